"""The package's logger, under the name that programs of openai-agents set up."""

import logging

logger = logging.getLogger("openai.agents")
