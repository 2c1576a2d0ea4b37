"""Runs of reid-core in MLflow: the hook ``mlflow``.

``store`` says where records go, ``limits`` keeps names and values within what MLflow takes, and
``steps`` leaves out what a record holds already.
"""
