"""Rounds by Airflow: what is due every quarter of an hour, upkeep and an audit at night; each is a spark-submit of its own.

`max_active_runs` keeps runs of one DAG apart; against all other writers the lake guards itself: exit code 4, which the
operator fails with, and the next run makes good. Alert on a failed `check` (exit code 3: something is late) and on a failed
`audit` (3: a promise is broken). Each run of rounds leaves RESULTS on the machine where its driver ran.
"""

from __future__ import annotations

import pendulum
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG

LAKE = "spark_catalog.pfspark"  # of another catalog SESSION needs its settings too
RESULTS = "/srv/pfspark/run_results.json"
SESSION = {
    "spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.0",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
}


def submitted(task: str, *words: str) -> SparkSubmitOperator:
    """One verb of the command line, by conf/schedules/submit.py."""
    return SparkSubmitOperator(task_id=task, application="submit.py", application_args=[*words, "--lake", LAKE], conf=SESSION)


with DAG("pfspark_rounds", schedule="*/15 * * * *", start_date=pendulum.datetime(2026, 1, 1), catchup=False, max_active_runs=1):
    rounds = submitted("run", "run", "--until", "now", "--results", RESULTS)
    rounds >> submitted("check", "status", "--check", "--max-age", "6h")

# Between two runs of rounds: one writes at a time.
with DAG("pfspark_nightly", schedule="7 3 * * *", start_date=pendulum.datetime(2026, 1, 1), catchup=False, max_active_runs=1):
    submitted("maintain", "maintain") >> submitted("audit", "audit")
