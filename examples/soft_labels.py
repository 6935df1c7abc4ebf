"""Soft labels and prior knowledge: learn from experts who disagree, and before any data is there.

y may be a distribution over classes for each item. And what is known beforehand can be told to an
empty model as items that were never observed, with a weight that says how much they count.
"""

from stc import SparseTensorClassifier

# Three doctors looked at each patient; their votes are the target, of any total.
patients = [{"cough": "dry", "fever": "high"}, {"cough": "wet", "fever": "low"}, {"cough": "dry"}]
votes = [{"flu": 3}, {"cold": 2, "flu": 1}, {"cold": 1, "flu": 1, "allergy": 1}]
model = SparseTensorClassifier().fit(patients, votes)
print(model.classes_.tolist(), model.class_mass_.round(2).tolist())

# Prior knowledge: statements of a textbook, each worth as many patients as its weight says.
textbook = [{"fever": "high"}, {"fever": "low"}, {"eyes": "itchy"}]
says = [{"flu": 9, "cold": 1}, {"flu": 1, "cold": 9}, {"allergy": 1}]
model = SparseTensorClassifier()  # empty: partial_fit may start it
model.partial_fit(textbook, says, sample_weight=[10, 10, 2])


def show(when):
    probabilities = model.predict_proba([{"fever": "high", "cough": "dry"}])[0]
    print(when, dict(zip(model.classes_.tolist(), probabilities.round(2).tolist(), strict=True)))


show("before any patient:")
model.partial_fit(patients, votes)
show("with the patients: ")

# prints:
# ['allergy', 'cold', 'flu'] [0.33, 1.0, 1.67]
# before any patient: {'allergy': 0.0, 'cold': 0.1, 'flu': 0.9}
# with the patients:  {'allergy': 0.01, 'cold': 0.11, 'flu': 0.88}
