"""Documents explained where they stand: each word marked by what it adds to a class.

In a notebook the words are coloured; here, [+word+] speaks for the class and [?word?] was never
seen. With phases, [-word-] works against it.
"""

from stc import SparseTensorClassifier

reviews = ["A lovely film, warm and funny.", "Lovely!", "What a bore!", "A cold film, and a bore."]
model = SparseTensorClassifier().fit(reviews, ["good", "good", "bad", "bad"])

explanation = model.explain(["A lovely film,\nalthough  not funny", "What a cold, grey bore!"])
print(explanation.highlight(0).text)
print(explanation.highlight(0, "bad").text)  # what speaks for the other class
print(explanation.highlight(1).text)

# The same as data: pieces of the text with their shares of the score.
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
