"""Documents: classify strings without a vectorizer.

Strings are split into words and punctuation, case-sensitive; `tokenizer` may be any function from
a string to a list of strings. Coverage is the share of a text that the model knows.
"""

import re

from stc import SparseTensorClassifier

reviews = ["What a lovely film!", "Lovely, warm and funny.", "What a bore!", "Cold, and a bore."]
stars = [5, 5, 1, 1]
model = SparseTensorClassifier().fit(reviews, stars)
print(model.get_feature_names_out()[:5].tolist())
print(model.explain_local(["A lovely, warm bore", "Quel ennui"]))


def words(text):
    """Return lower-case words; nltk.word_tokenize can be used as well."""
    return re.findall(r"[a-z]+", text.lower())


model = SparseTensorClassifier(tokenizer=words).fit(reviews, stars)
new = ["LOVELY, lovely, and warm", "lovely soundtrack", "quel ennui"]
for text, star, known in zip(new, model.predict(new), model.coverage(new), strict=True):
    print(f"{text}: {star} of 5 stars, {known:.0%} known")

# prints:
# ['What', 'a', 'lovely', 'film', '!']
# 5, 0.64: because lovely (52 %), warm (48 %)
# 1, 0.50: nothing in it was seen before; the class frequencies decide
# LOVELY, lovely, and warm: 5 of 5 stars, 100% known
# lovely soundtrack: 5 of 5 stars, 50% known
# quel ennui: 1 of 5 stars, 0% known
