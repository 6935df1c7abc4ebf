"""Stores and sources: the same code, whatever database holds the model and the data.

These need no server; anywhere_servers.py adds Dask, Spark and PostgreSQL.
"""

from tempfile import TemporaryDirectory

import duckdb

import stc


def tour(data, url, to):
    model = stc.SparseTensorClassifier(**stc.STC_Q)  # in memory, or in a store
    model = stc.open_store(url).create("zoo", model, overwrite=True) if url else model
    model.fit(data, "class").partial_fit(data, "class", batch_id="monday")
    model.partial_fit(data, "class", batch_id="monday")  # sent again, it counts once
    model.unlearn(data, "class", batch_id="monday")
    for method in (model.predict, model.predict_proba, model.coverage):
        method(data, to=f"{to}-{method.__name__}.parquet")
    why = model.explain_local([{"milk": 1, "eggs": 1, "legs": 4}])
    return f"{model.class_mass_.sum():.0f} animals, {model.score(data, 'class'):.2f} right; {why}"


if __name__ == "__main__":
    with TemporaryDirectory() as at:
        zoo = stc.load_zoo()[0].with_columns(stc.load_zoo()[1].alias("class"))
        for name, part in {"zoo": zoo, "part1": zoo[:50], "part2": zoo[50:]}.items():
            part.write_parquet(f"{at}/{name}.parquet")
        zoo.write_csv(f"{at}/zoo.csv")
        zoo.write_database("zoo", f"sqlite:///{at}/zoo.db")
        engines = duckdb.read_csv(f"{at}/zoo.csv"), stc.source(f"sqlite:///{at}/zoo.db", "zoo")
        sources = f"{at}/zoo.parquet", f"{at}/part*.parquet", f"{at}/zoo.csv", *engines
        stores = None, f"sqlite:///{at}/models.db", f"duckdb:///{at}/models.duckdb"
        results = [tour(data, url, f"{at}/answers") for url in stores for data in sources]
        print(f"{len(results)} x", *set(results))  # all results are equal

# prints:
# 15 x 101 animals, 0.99 right; Mammal, 0.83: because milk=1 (74 %), legs=4 (25 %), eggs=1 (1 %)
