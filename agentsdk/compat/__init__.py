"""Programs written for other SDKs, run on agentsdk."""
