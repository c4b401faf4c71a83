"""Mixed precision as Habana's documents spell it: hmp.convert(opt_level="O1") before a model is compiled, and
`with hmp.disable_casts():` around what keeps FP32."""

from tegula._regions import _stack, disable_graphamp


def convert(opt_level="O1", bf16_file_path=None, fp32_file_path=None, isVerbose=False):  # pylint: disable=invalid-name
    """What this thread compiles from now on runs under `--amp hmp` with this level and, where they are given, these
    lists of operators. isVerbose: each decision goes to standard error."""
    options = {"amp": "hmp", "hmp_opt_level": opt_level, "verbose": isVerbose}
    if bf16_file_path:
        options["bf16_ops"] = bf16_file_path
    if fp32_file_path:
        options["fp32_ops"] = fp32_file_path
    _stack()[:] = [options]


disable_casts = disable_graphamp
