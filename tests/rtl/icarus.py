#!/usr/bin/python3
"""Blocks of the RTL under a second simulator, Icarus Verilog, which has four states: what starts as unknown stays unknown.

    icarus.py RTL GENERATED SCRATCH CHECK_FMA             every block below, or exit status 1
    icarus.py --planted RTL GENERATED SCRATCH CHECK_FMA   registers that are not reset, and a wrong product, must be noticed

Icarus 11 reads too little SystemVerilog: Yosys, a second reader, writes plain Verilog of a block (with what tests/proofs/prove.py
rewrites for it). Control blocks get random inputs, and these outputs have to be known from the reset on; the multiply-add lane
gets the vectors of check_fma, and has to give their results.
GENERATED has tegula_pkg.sv. Exit status 77: Yosys or Icarus is missing.
"""
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "proofs"))
import prove  # noqa: E402  pylint: disable=wrong-import-position

CYCLES = 3000
VECTORS = 3000
# Block: what it needs beside itself, outputs that are known from the reset on (NAME, or NAME[BIT]), constants of the array.
BLOCKS = {
    "post_fifo": ([], ["empty_o"], {}),
    "lane_arbiter": ([], ["grant_o"], {}),
    "burst_source": (["row_walk"], ["read_o", "burst_end_o", "side_o[44]"], {}),
    "mx_acc_owner": ([], ["own_o"], {}),
    "agcu_store": ([], ["fault_o"], {}),
    "scratchpad": (["scratchpad_bank"], ["fault_o"], {"BankRows": 4, "Banks": 3}),
    "tx": (["row_walk", "burst_source"], ["issue_o", "end_o", "idle_for_sync_o", "read_o", "req_o"], {}),
    "section_control": ([], ["load_o", "reset_o", "run_o", "done_o", "cycle_o"], {}),
    "mx_stream": (["mx_pkg"], ["a_valid_o", "turn_out_o"], {}),
}
DEFECTS = [("post_fifo", "      head_q <= '0;\n", ""), ("lane_arbiter", "      hold_q <= '0;\n", ""),
           ("tx", "      req_q <= 1'b0;\n      gap_q <= 1'b0;\n    end else if (start_i)", "      gap_q <= 1'b0;\n    end else if (start_i)"),
           ("fma_lane", ".b_i(b_lo.sig), .product_o(hl)", ".b_i(b_hi.sig), .product_o(hl)")]


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)[:200]}: {done.stdout[-2000:]}")
    return done.stdout


def netlist(block, needs, constants, rtl, generated, folder, edit):
    """Plain Verilog of the block, and its ports {name: (direction, width)}."""
    os.makedirs(folder, exist_ok=True)
    stem = os.path.join(folder, block)
    with open(stem + ".list", "w", encoding="utf-8") as file:
        sizes = " ".join(f"{key}={value}" for key, value in constants.items())
        file.write(f"// modules: {' '.join([*needs, block])}\n// constants: {sizes}\n")
    text = prove.sources(stem + ".list", rtl, generated, edit)
    with open(stem + ".sv", "w", encoding="utf-8") as file:
        file.write(text)
    run("yosys", "-q", "-e", "implicitly declared|out of bounds", "-p",
        f"read_verilog -sv {stem}.sv; hierarchy -check -top {block}; proc; flatten; opt_clean; write_verilog -noattr {stem}.v; write_json {stem}.json")
    with open(stem + ".json", encoding="utf-8") as file:
        module = json.load(file)["modules"][block]
    return stem, {name: (port["direction"], len(port["bits"])) for name, port in module["ports"].items()}


def simulate(stem, bench):
    with open(stem + "_bench.v", "w", encoding="utf-8") as file:
        file.write(bench)
    run("iverilog", "-g2005-sv", "-o", stem + ".vvp", stem + ".v", stem + "_bench.v")
    return run("vvp", "-n", stem + ".vvp")


def instance(block, ports):
    declared = "".join(f"  {'reg' if way == 'input' else 'wire'} [{width - 1}:0] {name};\n" for name, (way, width) in ports.items())
    return declared + f"  {block} u_dut ({', '.join(f'.{name}({name})' for name in ports)});\n"


def known(block, rtl, generated, folder, edit=None):
    """Empty, or what is not known."""
    needs, outputs, constants = BLOCKS[block]
    stem, ports = netlist(block, needs, constants, rtl, generated, folder, edit)
    drawn = [(name, width) for name, (way, width) in ports.items() if way == "input" and name not in ("clk_i", "rst_ni")]
    draw = "".join(f"    {name} = {{{(width + 31) // 32}{{32'd0}}}};\n    for (i = 0; i < {(width + 31) // 32}; i = i + 1) "
                   f"{name} = ({name} << 32) | $random(seed);\n" for name, width in drawn)
    checks = "".join(f"    if (^{name} === 1'bx) begin $display(\"cycle %0d: {name} is %b\", cycle, {name}); $finish; end\n" for name in outputs)
    bench = (f"module bench;\n  integer i, seed, cycle;\n{instance(block, ports)}  initial begin\n    seed = 1;\n    clk_i = 0;\n    rst_ni = 0;\n{draw}"
             f"    #1 clk_i = 1;\n    #1 clk_i = 0;\n    rst_ni = 1;\n    for (cycle = 0; cycle < {CYCLES}; cycle = cycle + 1) begin\n"
             f"{draw}    if (cycle % 8 != 0) start(0);\n    #1;\n{checks}    clk_i = 1;\n    #1 clk_i = 0;\n    end\n    $finish;\n  end\n"
             f"  task start(input value);\n    {'start_i = value;' if 'start_i' in ports else ''}\n  endtask\nendmodule\n")
    return simulate(stem, bench).strip()


def products(check_fma, rtl, generated, folder, edit=None):
    """Empty, or the first vector that comes out wrong."""
    stem, ports = netlist("fma_lane", ["fp_pkg", "mul12", "fma_add"], {}, rtl, generated, folder, edit)
    with open(stem + ".hex", "w", encoding="utf-8") as file:
        file.write(run(check_fma, "--random", str(VECTORS), "fp32"))
    latency = 3
    bench = (f"module bench;\n  integer n;\n  reg [31:0] vectors [0:{4 * VECTORS - 1}];\n{instance('fma_lane', ports)}"
             f"  initial begin\n    $readmemh(\"{stem}.hex\", vectors);\n    clk_i = 0;\n    rst_ni = 0;\n    valid_i = 0;\n    #1 clk_i = 1;\n    #1 clk_i = 0;\n"
             f"    rst_ni = 1;\n    for (n = 0; n < {VECTORS + latency}; n = n + 1) begin\n      valid_i = n < {VECTORS};\n"
             f"      if (valid_i) begin a_i = vectors[4*n]; b_i = vectors[4*n+1]; c_i = vectors[4*n+2]; end\n"
             f"      #1;\n      if (n >= {latency} && sum_o !== vectors[4*(n-{latency})+3]) begin\n"
             f"        $display(\"vector %0d: %h, not %h\", n - {latency}, sum_o, vectors[4*(n-{latency})+3]);\n        $finish;\n      end\n"
             f"      clk_i = 1;\n      #1 clk_i = 0;\n    end\n    $finish;\n  end\nendmodule\n")
    return simulate(stem, bench).strip()


def main():
    arguments = sys.argv[1:]
    planted = arguments[0] == "--planted"
    rtl, generated, scratch, check_fma = arguments[1:] if planted else arguments
    for tool in ("yosys", "iverilog"):
        if not shutil.which(tool):
            print(f"{tool} is missing: apt install yosys iverilog")
            return 77
    bad = 0
    for number, (block, old, new) in enumerate(DEFECTS if planted else [(name, None, None) for name in [*BLOCKS, "fma_lane"]]):
        folder = os.path.join(scratch, f"planted{number}" if planted else block)
        edit = (block + ".sv", old, new) if planted else None
        said = products(check_fma, rtl, generated, folder, edit) if block == "fma_lane" else known(block, rtl, generated, folder, edit)
        said = said.splitlines()[0] if said else ""
        print(f"{block}: {said or 'as it should be'}")
        bad += bool(said) != planted
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
