"""Word boundaries as ICU finds them, without ICU: its rules for all scripts, its dictionary for Chinese and Japanese."""
