#!/usr/bin/python3
"""Blocks of the RTL under a second simulator, Icarus Verilog, which has four states: what starts as unknown stays unknown.

    icarus.py RTL GENERATED SCRATCH TEST             every block and model below, or exit status 1
    icarus.py --planted RTL GENERATED SCRATCH TEST   registers that are not reset, and wrong values, must be noticed

Icarus 11 reads too little SystemVerilog: Yosys, a second reader, writes plain Verilog of a block (with what tests/proofs/prove.py
rewrites for it). Control blocks get random inputs, and these outputs have to be known from the reset on. Leaf modules get what
TEST, their bench at the pins (test_rtl_arithmetic), gave the verilated model, as recorder.h writes it down, and each bit that is
known has to be that model's, which the bench compares with the host's arithmetic.
GENERATED has tegula_pkg.sv. Exit status 77: Yosys or Icarus is missing.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "proofs"))
import prove  # noqa: E402  pylint: disable=wrong-import-position

CYCLES = 3000
VECTORS = 500  # of each random test of the bench
# Block: what it needs beside itself, outputs that are known from the reset on (NAME, or NAME[BIT]), constants of the array.
BLOCKS = {
    "post_fifo": ([], ["empty_o"], {}),
    "lane_arbiter": ([], ["grant_o"], {}),
    "burst_source": (["row_walk"], ["read_o", "burst_end_o", "side_o[44]"], {}),
    "mx_acc_owner": ([], ["own_o"], {}),
    "agcu_store": ([], ["fault_o"], {}),
    "scratchpad": (["scratchpad_bank"], ["fault_o"], {"BankRows": 4, "Banks": 3}),
    "tx": (["row_walk", "burst_source"], ["issue_o", "end_o", "idle_for_sync_o", "read_o", "req_o"], {}),
    "section_control": ([], ["load_o", "room_o", "reset_o", "run_o", "done_o", "cycle_o"], {}),
    "mx_stream": (["mx_pkg"], ["a_valid_o", "turn_out_o"], {}),
    "mx_streamed": (["mx_pkg", "fabric_pkg"], ["a_req_o", "turn_in_o"], {}),
    "mx_stationary": (["mx_pkg", "fabric_pkg"], ["b_req_o"], {}),
}
# Block or model, file, old text, new text.
DEFECTS = [
    ("post_fifo", "post_fifo.sv", "      head_q <= '0;\n", ""),
    ("lane_arbiter", "lane_arbiter.sv", "      hold_q <= '0;\n", ""),
    ("tx", "tx.sv", "      req_q <= 1'b0;\n      gap_q <= 1'b0;\n    end else if (start_i)", "      gap_q <= 1'b0;\n    end else if (start_i)"),
    ("mx_streamed", "mx_streamed.sv", "      start_q <= 1'b0;\n", ""),
    ("lane3", "fma_lane.sv", ".b_i(b_lo.sig), .product_o(hl)", ".b_i(b_hi.sig), .product_o(hl)"),
    ("pe_bench", "pe.sv", "selected = a_set_i[i] ?", "selected = a_set_i[0] ?"),
    ("formats_bench", "fp_pkg.sv", "32'h7FFF + {31'd0, x[16]}", "32'h8000"),
    ("alu", "vx_alu.sv", "simple = a << b[4:0]", "simple = a << b[3:0]"),
]
# Model of the benches at the pins (tests/rtl/CMakeLists.txt): its block, what that needs, parameters.
LANE = ["fp_pkg", "mul12", "fma_add"]
MODELS = {
    "lane3": ("fma_lane", LANE, "-chparam Latency 3"),
    "lane5": ("fma_lane", LANE, "-chparam Latency 5"),
    "pe_bench": ("pe_bench", [*LANE, "fp_unpack", "pe"], ""),
    "formats_bench": ("formats_bench", ["fp_pkg"], ""),
    "alu": ("vx_alu", [*LANE, "fma_lane"], "-chparam Latency 4"),
}
KNOWN = 0.7  # of the outputs, at least


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)[:200]}: {done.stdout[-2000:]}")
    return done.stdout


def netlist(block, needs, constants, rtl, generated, folder, edit, parameters=""):
    """Plain Verilog of the block, and its ports {name: (direction, width)}. A block of this folder is a bench, not the RTL's."""
    os.makedirs(folder, exist_ok=True)
    stem = os.path.join(folder, block)
    bench = os.path.join(HERE, block + ".sv")
    is_bench = os.path.exists(bench)
    with open(stem + ".list", "w", encoding="utf-8") as file:
        sizes = " ".join(f"{key}={value}" for key, value in constants.items())
        file.write(f"// modules: {' '.join(needs if is_bench else [*needs, block])}\n// constants: {sizes}\n")
        file.write(prove.read(bench) if is_bench else "")
    text = prove.sources(stem + ".list", rtl, generated, edit)
    with open(stem + ".sv", "w", encoding="utf-8") as file:
        file.write(text)
    run("yosys", "-q", "-e", "implicitly declared|out of bounds", "-p",
        f"read_verilog -sv {stem}.sv; hierarchy -check -top {block} {parameters}; rename -top {block}; proc; flatten; opt_clean; write_verilog -noattr {stem}.v; write_json {stem}.json")
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
    said = simulate(stem, bench).strip()
    return said.splitlines()[0] if said else ""


def replay(stem, ports, records, hex_file):
    """Empty, or the first known bit that differs from what the other simulator recorded; and how many of the outputs were known.

    The first cycle is a reset, as of the other simulator; what it leaves as it is, is unknown here until it is written."""
    with open(hex_file, encoding="utf-8") as file:
        lines = len(file.read().splitlines())
    width, at, sets, checks, outputs = 4 * (1 + sum(digits for _, _, digits in records)), 0, "", "", 0
    high = width - 4
    for way, name, digits in records:
        high -= 4 * digits
        if way == "in":
            sets += f"      {name} = vector[{high}+:{ports[name][1]}];\n"
        else:
            outputs += 1
            checks += (f"      if (|({name} ^ vector[{high}+:{ports[name][1]}]) === 1'b1) begin\n"
                       f"        $display(\"{os.path.basename(hex_file)} line %0d: {name} is %h, not %h\", n + 1, {name}, "
                       f"vector[{high}+:{ports[name][1]}]);\n        $finish;\n      end\n      if (^{name} !== 1'bx) known = known + 1;\n")
    reset = "    #1 rst_ni = 0;\n    #1 clk_i = 1;\n    #1 clk_i = 0;\n    rst_ni = 1;\n" if "rst_ni" in ports else ""
    bench = (f"module bench;\n  integer n, known;\n  reg [{width - 1}:0] vectors [0:{lines - 1}];\n  reg [{width - 1}:0] vector;\n"
             f"{instance(os.path.basename(stem), ports)}  initial begin\n    $readmemh(\"{hex_file}\", vectors);\n    known = 0;\n"
             f"    clk_i = 0;\n    rst_ni = 1;\n{reset}    for (n = 0; n < {lines}; n = n + 1) begin\n      vector = vectors[n];\n{sets}      #1;\n{checks}"
             f"      if (vector[{width - 4}]) begin\n        clk_i = 1;\n        #1 clk_i = 0;\n      end\n    end\n"
             f"    $display(\"known %0d\", known);\n    $finish;\n  end\nendmodule\n")
    said = simulate(stem, bench).strip().splitlines()[0]
    match = re.fullmatch(r"known (\d+)", said)
    return ("", int(match[1]), lines * outputs) if match else (said, 0, lines * outputs)


def replayed(model, rtl, generated, recorded, folder, edit=None):
    """Empty, or what differs, and a sum of what was compared."""
    block, needs, parameters = MODELS[model]
    stem, ports = netlist(block, needs, {}, rtl, generated, folder, edit, parameters)
    with open(os.path.join(recorded, f"V{model}.ports"), encoding="utf-8") as file:
        records = [(way, name, int(digits)) for way, name, digits in map(str.split, file)]
    known = compared = 0
    for hex_file in sorted(glob.glob(os.path.join(recorded, f"V{model}.*.hex"))):
        said, some, of = replay(stem, ports, records, hex_file)
        if said:
            return said, ""
        known, compared = known + some, compared + of
    return "" if known > KNOWN * compared else "too little is known", f"{known} of {compared} outputs known, none of them otherwise"


def record(test, folder):
    """What goes through the pins of every model of the test."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    environment = dict(os.environ, TEGULA_RTL_RECORD=folder, TEGULA_RTL_VECTORS=str(VECTORS))
    done = subprocess.run([test], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{test}: {done.stdout[-2000:]}")


def main():
    arguments = sys.argv[1:]
    planted = arguments[0] == "--planted"
    rtl, generated, scratch, test = arguments[1:] if planted else arguments
    for tool in ("yosys", "iverilog"):
        if not shutil.which(tool):
            print(f"{tool} is missing: apt install yosys iverilog")
            return 77
    recorded = os.path.join(scratch, "recorded")
    record(test, recorded)
    bad = 0
    for number, (name, *edit) in enumerate(DEFECTS if planted else [(name,) for name in [*BLOCKS, *MODELS]]):
        folder = os.path.join(scratch, f"planted{number}" if planted else name)
        if name in MODELS:
            said, compared = replayed(name, rtl, generated, recorded, folder, edit)
        else:
            said, compared = known(name, rtl, generated, folder, edit), "as it should be"
        print(f"{name}: {said or compared}")
        bad += bool(said) != planted
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
