"""Pydantic models of every event: the source of schemas/."""
