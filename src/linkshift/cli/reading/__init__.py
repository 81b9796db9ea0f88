"""What the commands read: tables, links, models, pictures; every refusal says what to do."""
