"""The context window at work: counting tokens and making a request fit."""
