"""The same programs as others write them, each in an environment of its own."""
