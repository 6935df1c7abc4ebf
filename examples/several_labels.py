"""Several labels: multi-label classification.

Give each item a set (or list) of labels, or give an indicator matrix as in scikit-learn.
Predictions have the same form.
"""

from sklearn.preprocessing import MultiLabelBinarizer

from stc import SparseTensorClassifier

words = {"war": ["tank", "front"], "love": ["kiss", "rose"], "crime": ["gun", "police"]}
pairs = [("war",), ("love",), ("crime",), ("war", "love"), ("love", "crime"), ("war", "crime")]
genres = [set(pair) for pair in pairs * 4]
films = [{"plot": [words[g][k % 2] for g in pair]} for k in range(4) for pair in pairs]
new = [{"plot": ["tank", "rose"]}, {"plot": ["police", "gun", "gun", "kiss"]}]

model = SparseTensorClassifier().fit(films, genres)
print("predicted:", [sorted(labels) for labels in model.predict(new)])

# A label is predicted if its probability is at least its threshold times the highest of the item.
# The thresholds are chosen by cross-validation on the training data.
print("thresholds:", model.classes_.tolist(), model.label_threshold_.round(2).tolist())
for row in model.predict_proba(new).round(4):  # one distribution per item: it ranks the labels
    print("ranked:", [f"{model.classes_[k]} {row[k]:.2f}" for k in (-row).argsort(kind="stable")])
model.set_params(label_threshold=0.4)  # one for all labels, without refitting
print("threshold 0.4:", [sorted(labels) for labels in model.predict(new)])

# Indicator matrix: predict_proba is of each label by itself, above 1/2 if it is predicted.
indicator = MultiLabelBinarizer().fit_transform(genres)
model = SparseTensorClassifier().fit(films, indicator)
print("indicator:", model.predict(new).tolist(), model.predict_proba(new).round(2).tolist())

# prints:
# predicted: [['love', 'war'], ['crime']]
# thresholds: ['crime', 'love', 'war'] [0.52, 0.52, 0.52]
# ranked: ['love 0.49', 'war 0.49', 'crime 0.01']
# ranked: ['crime 0.96', 'love 0.03', 'war 0.01']
# threshold 0.4: [['love', 'war'], ['crime']]
# indicator: [[0, 1, 1], [1, 0, 0]] [[0.04, 0.66, 0.66], [0.66, 0.06, 0.02]]
