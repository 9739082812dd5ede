"""The rules, each a function of frames that cites the sentence of the article it obeys; they meet in `pfspark.round` alone.

| module | what it is about |
|---|---|
| `transport` | faults on the way, and what is delivered |
| `receipt` | what comes: accepted or refused, new or held already |
| `hierarchy`, `folder_edits`, `places` | the tree of folders as each store sees it, edits of it, and where folders lie by these |
| `intake`, `item_edits`, `items` | what people did at stores, edits of items, and items as readers see them |
| `state` | the replication state table: what a store holds, and believes of others |
| `backfill`, `sources` | what is missing, when it is asked for, and from whom |
| `sending`, `packing`, `addressing` | what is sent at a cycle, packed into messages, and addressed |
| `status` | status requests, and status told |
| `removal`, `aging` | leaving a replica list without losing content; items that grow old |
| `agenda` | when a folder at a store must be looked at again, and why |
| `referral` | where a store sends a reader |
| `violations`, `checks`, `history` | the promises: of a round, of the world after it, of all that was written down |
| `frames` | what a round does with any frame |

In examples `frame(name, row, ...)` is that table, view or frame of `pfspark.tables`, of these rows; what they do not say is null.
"""
