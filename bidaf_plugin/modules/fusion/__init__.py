from bidaf_plugin.modules.fusion.concat_fusion import ConcatFusion as ConcatFusion
from bidaf_plugin.modules.fusion.fusion import Fusion as Fusion
from bidaf_plugin.modules.fusion.mlp_fusion import MlpFusion as MlpFusion
