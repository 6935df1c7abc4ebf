"""Stores: models in a database, which several processes may use at the same time.

A file for one machine, PostgreSQL for many: "postgresql://user@host/database".
"""

from tempfile import TemporaryDirectory

import stc

X, y = stc.load_zoo()
platypus = {"milk": 1, "eggs": 1, "hair": 1, "legs": 4}

with TemporaryDirectory() as folder:
    url = f"sqlite:///{folder}/models.db"
    with stc.open_store(url) as store:
        zoo = store.create("zoo", stc.SparseTensorClassifier(power=0.4))
        zoo.partial_fit(X[:60], y[:60], batch_id="monday")
        for _ in range(3):  # after a crash or a timeout: send it again, it counts once
            zoo.partial_fit(X[60:], y[60:], batch_id="tuesday")
        print("learnt:   ", zoo.class_mass_.sum(), "animals")

    with stc.open_store(url) as store:  # for example in another process
        zoo = store["zoo"]
        print("reopened: ", zoo.get_params()["power"], zoo.explain_local([platypus]))
        zoo.set_params(power=1)  # for all processes, without refitting
        print("changed:  ", store["zoo"].get_params()["power"], zoo.explain_local([platypus]))
        copy = zoo.to_estimator()  # in memory; or zoo.save("zoo.stc.parquet")
        store.create("copy", copy.unlearn(X[60:], y[60:], batch_id="tuesday"))
        print("copied:   ", {name: model.class_mass_.sum().item() for name, model in store.items()})
        del store["copy"]
        print("deleted:  ", list(store))

# prints:
# learnt:    101.0 animals
# reopened:  0.4 Mammal, 0.92: because milk=1 (49 %), hair=1 (32 %), legs=4 (18 %)
# changed:   1 Mammal, 0.59: because milk=1 (52 %), hair=1 (33 %), legs=4 (16 %)
# copied:    {'copy': 60.0, 'zoo': 101.0}
# deleted:   ['zoo']
