"""The commands. ``--help`` and listings import no torch: the engine is imported when it is used."""
