"""One seed trained several times."""
