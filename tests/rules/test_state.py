"""The replication state table, as frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pfspark.rules import state

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = "org string, store string, folder string"


@pytest.mark.rule("R96", "R97")
def test_sources_are_all_holders_of_the_list_but_oneself(spark: SparkSession) -> None:
    """A replica that is gone, one that was never listed, one of a life that is over, and oneself claim nothing."""
    listed = {"ME": "listed", "NEAR": "listed", "FAR": "listed", "LEAVER": "removed", "GONE": "gone", "REBORN": "listed"}
    about = [*listed, "STRANGER"]
    beliefs = [("o", "ME", "/F", "reported", peer, "FAR", 1, 4) for peer in about]
    lists = [("o", "ME", "/F", peer, how) for peer, how in listed.items()]
    stores = [("o", peer, "far" if peer == "FAR" else "here") for peer in about]
    claims = state.claims(
        spark.createDataFrame(beliefs, f"{HERE}, entry string, about string, origin string, cn_min bigint, cn_max bigint"),
        lists=spark.createDataFrame(lists, f"{HERE}, peer string, listing string"),
        lives=spark.createDataFrame([("o", "ME", "/F", "REBORN", 2)], f"{HERE}, peer string, life bigint"),
        stores=spark.createDataFrame(stores, "org string, store string, site string"),
    )
    found = {row["peer"]: (row["near"], row["leaving"], row["cn_min"], row["cn_max"]) for row in claims.collect()}
    assert found == {"NEAR": (True, False, 1, 4), "FAR": (False, False, 1, 4), "LEAVER": (True, True, 1, 4)}
