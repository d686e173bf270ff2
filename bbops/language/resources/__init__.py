"""Resource kinds, one file each: what a YAML file of that kind may say."""
