from bidaf_plugin.commands.action import Action as Action
from bidaf_plugin.commands.bidaf import Bidaf as Bidaf
from bidaf_plugin.commands.compact import Compact as Compact
from bidaf_plugin.commands.pack_cloze import PackCloze as PackCloze
from bidaf_plugin.commands.quickstart import Quickstart as Quickstart
from bidaf_plugin.commands.study import Study as Study
from bidaf_plugin.commands.table import Table as Table
