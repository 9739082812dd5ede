"""The command line as a program for spark-submit: `submit.py run --until now --lake spark_catalog.pfspark`."""

from pfspark.cli import main

main()
