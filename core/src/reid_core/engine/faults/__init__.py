"""What a run does about numbers, images and memory that go wrong."""
