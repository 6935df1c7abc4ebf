"""Explanations of documents: words marked by their contribution to a class.

In a notebook the words are coloured. As text, [+word+] adds to the class, [?word?] is unknown, and
with phases [-word-] works against the class.
"""

from stc import SparseTensorClassifier

reviews = ["A lovely film, warm and funny.", "Lovely!", "What a bore!", "A cold film, and a bore."]
model = SparseTensorClassifier().fit(reviews, ["good", "good", "bad", "bad"])

new = ["A lovely film,\nalthough  not funny", "What a cold, grey bore!"]
explanation = model.explain_local(new)
print(explanation.highlight(0).text)
print(explanation.highlight(0, "bad").text)  # words that add to the other class
print(explanation.highlight(1).text)

# The same as data: parts of the text with their shares of the score.
for part in explanation.highlight(1).parts:
    if part.effect == "for":
        print(f"{part.text}: {part.share:.0%}")

# prints:
# good, 1.00: A [+lovely+] film,
# [?although?]  [?not?] [+funny+]
# bad, 0.00: A lovely film,
# [?although?]  [?not?] funny
# bad, 1.00: [+What+] [+a+] [+cold+], [?grey?] [+bore+]!
# What: 24%
# a: 29%
# cold: 17%
# bore: 29%
