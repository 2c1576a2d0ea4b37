"""The evaluation of models and of files of embeddings, during training and by ``reid-eval``.

``evaluator`` measures one test set and ``combined`` several as one; ``run`` does it in training,
``measure`` for a model that ``weights`` loaded, ``embedding_evaluation`` for a file of embeddings;
``calibration`` chooses a threshold; the rest makes records, lines and tables of it.
"""
