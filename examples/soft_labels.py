"""Soft labels and prior knowledge: learn from disagreeing experts, and before there is data.

y may be a distribution over classes for each item. Prior knowledge can be learnt as made-up items,
with weights.
"""

from stc import SparseTensorClassifier

# Votes of three doctors for each patient; they are divided by their total.
patients = [{"cough": "dry", "fever": "high"}, {"cough": "wet", "fever": "low"}, {"cough": "dry"}]
votes = [{"flu": 3}, {"cold": 2, "flu": 1}, {"cold": 1, "flu": 1, "allergy": 1}]
model = SparseTensorClassifier().fit(patients, votes)
print(model.classes_.tolist(), model.class_mass_.round(2).tolist())

# Prior knowledge: statements of a textbook; a weight of 10 counts as ten patients.
textbook = [{"fever": "high"}, {"fever": "low"}, {"eyes": "itchy"}]
says = [{"flu": 9, "cold": 1}, {"flu": 1, "cold": 9}, {"allergy": 1}]
model = SparseTensorClassifier()  # partial_fit may be the first call
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
