"""`allennlp bidaf ACTION`: arguments in, one call, words out."""

from bidaf_plugin.commands import answer as answer
from bidaf_plugin.commands import archives as archives
from bidaf_plugin.commands import ensemble as ensemble
from bidaf_plugin.commands import export as export
from bidaf_plugin.commands import looking_inside as looking_inside
from bidaf_plugin.commands import pack_cloze as pack_cloze
from bidaf_plugin.commands import perturb as perturb
from bidaf_plugin.commands import quickstart as quickstart
from bidaf_plugin.commands import report as report
from bidaf_plugin.commands import score as score
from bidaf_plugin.commands import serve as serve
from bidaf_plugin.commands import train as train
from bidaf_plugin.commands.action import Action as Action
