"""Stores and sources with servers: the code of anywhere.py on Dask, Spark and PostgreSQL.

Options: --dask, --spark, --postgresql postgresql://user@host/database (tables are created there).
"""

import sys
from tempfile import TemporaryDirectory

from anywhere import tour

import stc


def sources(path, url):
    if "--dask" in sys.argv:
        from distributed import Client

        with Client(n_workers=2) as client:  # for a cluster: Client("tcp://scheduler:8786")
            yield "Dask", stc.source(path, on=client)
    if "--spark" in sys.argv:
        from pyspark.sql import SparkSession

        with SparkSession.builder.master("local[2]").getOrCreate() as spark:
            yield "Spark", spark.read.parquet(path)
    if url:
        yield "PostgreSQL", stc.source(url, "zoo")


if __name__ == "__main__":
    url = sys.argv[sys.argv.index("--postgresql") + 1] if "--postgresql" in sys.argv else None
    with TemporaryDirectory() as folder:
        zoo = stc.load_zoo()[0].with_columns(stc.load_zoo()[1].alias("class"))
        zoo.write_parquet(f"{folder}/zoo.parquet")
        if url:
            zoo.write_database("zoo", url.replace(":", "+psycopg:", 1), if_table_exists="replace")
        for name, data in sources(f"{folder}/zoo.parquet", url):
            print(f"{name}: {tour(data, url, f'{folder}/{name}')}")

# prints:
