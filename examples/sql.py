"""SQL: rows that may not leave their database are classified where they are.

The query holds the model. Whoever runs it needs neither stc nor Python.
"""

import duckdb

import stc

X, y = stc.load_zoo()
model = stc.SparseTensorClassifier().fit(X, y)

with duckdb.connect() as database:  # another machine, say
    database.execute("CREATE TABLE pets (id TEXT, milk INT, eggs INT, legs INT)")
    database.execute("INSERT INTO pets VALUES ('cat', 1, 0, 4), ('hen', 0, 1, 2), ('?', 7, 7, 7)")
    for column in X.columns:  # what is not known of them is NULL
        database.execute(f"ALTER TABLE pets ADD COLUMN IF NOT EXISTS {column} INT")

    query = model.to_sql("duckdb", data="pets", item="id", form="wide")
    asked = f'SELECT item, prediction, "probability_Mammal" FROM ({query}) ORDER BY item DESC'
    for item, prediction, mammal in database.execute(asked).fetchall():
        print(f"{item}: {prediction}, with {mammal:.2f} a mammal")

    # The same from a table of features: a word a row, so for texts and sparse matrices, too.
    database.execute("CREATE TABLE features (item TEXT, feature TEXT, weight DOUBLE)")
    database.execute("INSERT INTO features VALUES ('cat', 'milk=1', 1), ('cat', 'legs=4', 1)")
    query = model.to_sql("duckdb")
    best = database.execute(f"SELECT * FROM ({query}) ORDER BY probability DESC LIMIT 1").fetchone()
    print(best[0], best[1], round(best[2], 2))

# prints:
# hen: Bird, with 0.10 a mammal
# cat: Mammal, with 0.88 a mammal
# ?: Mammal, with 0.41 a mammal
# cat Mammal 0.88
