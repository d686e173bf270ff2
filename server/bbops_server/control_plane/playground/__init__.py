"""The Playground: requests from the dashboard to live and to drafts."""
