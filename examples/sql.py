"""SQL: predict inside a database.

The query contains the model and needs neither stc nor Python.
"""

import duckdb

import stc

X, y = stc.load_zoo()
model = stc.SparseTensorClassifier().fit(X, y)

with duckdb.connect() as database:  # for example on another machine
    database.execute("CREATE TABLE pets (id TEXT, milk INT, eggs INT, legs INT)")
    database.execute("INSERT INTO pets VALUES ('cat', 1, 0, 4), ('hen', 0, 1, 2), ('?', 7, 7, 7)")
    for column in X.columns:  # NULL means missing
        database.execute(f"ALTER TABLE pets ADD COLUMN IF NOT EXISTS {column} INT")

    query = model.to_sql("duckdb", data="pets", item="id", form="wide")
    selected = f'SELECT item, prediction, "probability_Mammal" FROM ({query}) ORDER BY item DESC'
    for item, prediction, mammal in database.execute(selected).fetchall():
        print(f"{item}: {prediction}, probability of Mammal {mammal:.2f}")

    # The same from a table of features, one per row, as for documents and sparse matrices.
    database.execute("CREATE TABLE features (item TEXT, feature TEXT, weight DOUBLE)")
    database.execute("INSERT INTO features VALUES ('cat', 'milk=1', 1), ('cat', 'legs=4', 1)")
    query = model.to_sql("duckdb")
    best = database.execute(f"SELECT * FROM ({query}) ORDER BY probability DESC LIMIT 1").fetchone()
    print(best[0], best[1], round(best[2], 2))

# prints:
# hen: Bird, probability of Mammal 0.00
# cat: Mammal, probability of Mammal 1.00
# ?: Mammal, probability of Mammal 0.41
# cat Mammal 1.0
