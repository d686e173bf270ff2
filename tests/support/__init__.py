"""What tests share: servers, repositories, projects, people; no tests."""
