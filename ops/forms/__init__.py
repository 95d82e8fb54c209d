"""Forms of sentences: negation, questions, pronouns, tense, affixes and the like, from words, tags and trees."""
