"""What people write in files: organizations, scenarios, their stores, links and folders, each property in their own words."""
