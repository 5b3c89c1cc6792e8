"""A query engine of LlamaIndex over the units of a request."""

import re

from llama_index.core.base.response.schema import Response
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode

GOVERNING = ("release rule", "verification record")


class Rules(CustomQueryEngine):
    def custom_query(self, query_str):
        units = re.split(r"(?m)^## ", query_str)[1:]
        units = sorted(unit.strip() for unit in units if unit.lower().startswith(GOVERNING))
        nodes = [NodeWithScore(node=TextNode(text=unit), score=1.0) for unit in units]
        decision = str(sum(map(ord, "".join(units))) % 97)
        return Response(response=decision, source_nodes=nodes)


chain = Rules()
