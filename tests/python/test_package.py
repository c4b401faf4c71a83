"""The Python package against numpy, and against PyTorch where it is installed."""

import contextlib
import io
import json
import os
import resource
import subprocess
import tempfile
import threading
import unittest

import numpy

import tegula
from tegula import hmp, raf
from tegula._library import _location

try:
    import torch
except ImportError:
    torch = None


def zoo(folder, name, *flags):
    path = os.path.join(folder, name + ".onnx")
    subprocess.run([_location.COMMAND, "zoo", name, "-q", "-o", path, *flags], check=True)
    return path


class Package(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.gemm = zoo(self.folder, "gemm", "--m", "9", "--n", "7", "--k", "5")
        random = numpy.random.default_rng(1)
        self.a = random.standard_normal((9, 5)).astype("float32")
        self.b = random.standard_normal((5, 7)).astype("float32")

    def test_an_archive_binds_all_inputs(self):
        archive, out = os.path.join(self.folder, "ab.npz"), os.path.join(self.folder, "out")
        run = [_location.COMMAND, "run", self.gemm, "--arch", "tiny", "-q", "--no-cpu-reference", "--output-dir", out]
        numpy.savez_compressed(archive, A=self.a, B=self.b)
        for inputs in ([archive], ["A=" + archive + ":A", "B=" + archive + ":B"]):
            subprocess.run(run + [flag for each in inputs for flag in ("--input", each)], check=True)
            numpy.testing.assert_allclose(numpy.load(out + "/C.npy"), self.a @ self.b, atol=1e-5)
        numpy.savez(archive, A=self.a, B=self.b, C=self.b)
        done = subprocess.run(run + ["--input", archive], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn('no input "C"', done.stderr)

    def test_a_thread_waits_for_another_one(self):
        program, done = tegula.compile(self.gemm, arch="tiny"), []
        closing = threading.Thread(target=lambda: done.append(program.close()))

        def progress(*_):
            if not closing.ident:
                closing.start()
                closing.join(0.3)
                self.assertFalse(done)

        got = program.run({"A": self.a, "B": self.b}, progress=progress)
        numpy.testing.assert_allclose(got["C"], self.a @ self.b, atol=1e-5)
        closing.join()
        self.assertTrue(done)
        with self.assertRaisesRegex(tegula.Error, "no session"):
            program.run()

    def test_integers_beyond_floats(self):
        try:
            import onnx
            from onnx import helper
        except ImportError:
            self.skipTest("no package onnx")
        typed = helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("Sub", ["i", "j"], ["y"])], "g",
                                  [typed(n, onnx.TensorProto.INT64, [3]) for n in "ij"], [typed("y", onnx.TensorProto.INT64, [3])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        i, j = numpy.array([2**53 + 1, -2**40, 7]), numpy.array([2**53, 1, 7])
        program = tegula.compile(model, arch="tiny", constants={"i": i, "j": j})
        for inputs in ({}, {"i": i, "j": j}):
            numpy.testing.assert_array_equal(program.run(inputs, engine="functional")["y"], i - j)
        with self.assertRaisesRegex(tegula.Error, "was fixed when the model was compiled"):
            program.run({"i": i - 1})
        program = tegula.compile(model, arch="tiny")
        with self.assertRaisesRegex(tegula.Error, 'input "i": element 0 is 9007199254740992, outside'):
            program.run({"i": i, "j": j})
        for given in (numpy.array([1.5, 0, 0]), numpy.array([0, 2**63, 0], "uint64"), numpy.array([0, numpy.nan, 0])):
            with self.assertRaisesRegex(tegula.Error, 'input "j": element . is no number of i64'):
                tegula.compile(model, arch="tiny", constants={"j": given})
        small = numpy.array([5, -9, 2**22])
        swapped = small.astype(small.dtype.newbyteorder())
        numpy.testing.assert_array_equal(program.run({"i": swapped, "j": swapped[::-1]}, engine="functional")["y"], small - small[::-1])
        numpy.testing.assert_array_equal(program.run({"i": small, "j": small[::-1]}, engine="functional")["y"], small - small[::-1])

    def test_errors_of_operators_are_numpys(self):
        def bf16(x):  # to nearest, ties to even
            bits = x.view("uint32").astype("uint64")
            return (((bits + 0x7fff + (bits >> 16 & 1)) >> 16) << 16).astype("uint32").view("float32")

        def rms(x):
            return numpy.sqrt(numpy.mean(numpy.square(x.astype("float64"))))

        a, b = numpy.abs(self.a), self.b
        inputs = {"A": a, "B": b}
        exact = a.astype("float64") @ b
        got = tegula.numerics(self.gemm, arch="tiny", graphamp_preset="mp1", input=inputs, bound=1e-4)
        casts = {row["elements"]: row for row in got["results"] if row["op"] == "Cast"}
        for x in (a, b):
            self.assertAlmostEqual(casts[x.size]["added_rms"], rms(bf16(x) - x), 9)
            self.assertEqual(casts[x.size]["passed_rms"], 0)
            self.assertAlmostEqual(casts[x.size]["least"], numpy.abs(x).min(), 9)
        product, = [row for row in got["results"] if row["op"] == "MatMul"]
        self.assertEqual(product["added_rms"], 0)  # FP32 result of the operands as they are
        self.assertAlmostEqual(product["passed_rms"], rms(bf16(a).astype("float64") @ bf16(b) - exact), 6)
        self.assertEqual(got["first_broken"]["op"], "Cast")

        both = tegula.numerics(self.gemm, arch="tiny", policy=["mp1", "autocast-cuda-fp16"], input=inputs, bound=1e-4)
        self.assertEqual([row for row in both["results"] if row.pop("policy") == "mp1"], got["results"])
        self.assertEqual([one["policy"] for one in both["policies"]], ["mp1", "autocast-cuda-fp16"])
        self.assertEqual(both["policies"][0]["first_broken"]["tensor"], got["first_broken"]["tensor"])
        places = [i for i, row in enumerate(both["results"]) if row["op"] == "MatMul"]
        self.assertEqual(places, [places[0], places[0] + 1])  # of one tensor, beside each other
        narrow = both["results"][places[1]]
        fp16 = (a.astype("float16").astype("float64") @ b.astype("float16").astype("float64")).astype("float16")
        self.assertAlmostEqual(narrow["total_rms"], rms(fp16 - exact), 5)

        a[0, 0] = 1e6  # beyond FP16
        got = tegula.numerics(self.gemm, arch="tiny", amp="autocast", amp_dtype="fp16", input=inputs)
        self.assertEqual(got["first_broken"]["overflows"], 1)
        self.assertIn("BF16 holds", got["first_broken"]["hint"])
        self.assertEqual([row["nans"] + row["overflows"] for row in got["results"] if row["op"] == "MatMul"], [7])
        got = tegula.numerics(self.gemm, arch="tiny", input=inputs)
        self.assertTrue(all(row["total_rms"] == 0 for row in got["results"]))

    def test_rules_of_rafs_spelling_decide(self):
        asked = []

        def never_cast(args, ret_type, amp_dtype):
            asked.append((args[0].checked_type.dtype, ret_type, amp_dtype))
            return [raf.PrimType("float32"), raf.gen_hint_helper(args[1].checked_type, "float32")]

        exact = self.a @ self.b
        def error(program):
            return numpy.abs(program.run({"A": self.a, "B": self.b}, engine="functional")["C"] - exact).max()
        self.assertGreater(error(raf.autocast(self.gemm, arch="tiny")), 1e-3)
        with raf.CustomTypeHint({"raf.op.matmul": never_cast, "raf.op.softmax": None}):
            self.assertLess(error(raf.autocast(self.gemm, arch="tiny")), 1e-5)
        self.assertEqual(asked, [("float32", None, "bfloat16")])
        self.assertGreater(error(raf.autocast(self.gemm, arch="tiny")), 1e-3)  # it ends with its block
        self.assertFalse(raf.check_dtype(raf.PrimType("float32"), "bfloat16"))
        with self.assertRaisesRegex(tegula.Error, "nonsense"):
            raf.CustomTypeHint({"raf.op.nonsense": never_cast})
        for hints in (["float32"], [], None):
            with raf.CustomTypeHint({"raf.op.matmul": lambda *_, hints=hints: hints}), self.assertRaisesRegex(tegula.Error, "no (list of )?PrimType"):
                raf.autocast(self.gemm, arch="tiny")
        with self.assertRaisesRegex(tegula.Error, "gives 3 for MatMul, which is no text"):
            tegula.compile(self.gemm, arch="tiny", cast_callback=lambda *_: 3)
        with self.assertRaises(ZeroDivisionError):
            tegula.compile(self.gemm, arch="tiny", cast_callback=lambda *_: 1 // 0)

    def test_the_largest_batch_that_fits(self):
        mlp = zoo(self.folder, "mlp")
        def peak(policy, batch):
            program = tegula.compile(mlp, arch="tiny", preset=policy, batch=batch)
            program.run(timing_only=True)
            return program.report["peak_device_bytes"]
        memory = peak("mp0", 11) + 1
        rows = tegula.batch_sweep(mlp, memory=memory, policies=("mp0", "mp4"), most=40, arch="tiny")
        largest = {row["policy"]: row["batch"] for row in rows if row["largest"]}
        for policy, batch in largest.items():
            self.assertLessEqual(peak(policy, batch), memory)
            if batch < 40:
                self.assertGreater(peak(policy, batch + 1), memory)
        self.assertGreaterEqual(largest["mp0"], 11)
        self.assertGreater(largest["mp4"], largest["mp0"])
        self.assertEqual([row["batch"] for row in rows[:4]], [1, 2, 4, 8])
        self.assertEqual(rows, tegula.batch_sweep(mlp, memory=str(memory), policies=("mp0", "mp4"), most=40, arch="tiny"))
        self.assertEqual(tegula.batch_sweep(mlp, memory=1, policies=("mp0",), arch="tiny"), [])

    def test_a_batch_that_the_host_has_no_memory_for_ends_the_series(self):
        try:
            from onnx import TensorProto, helper
        except ImportError:
            self.skipTest("python3-onnx is not installed")
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4000000]) for name in "xy")
        model = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"], name="relu")], "g", [x], [y]),
                                  opset_imports=[helper.make_opsetid("", 17)])
        path = os.path.join(self.folder, "relu.onnx")
        with open(path, "wb") as file:
            file.write(model.SerializeToString())
        limit = 700 << 20
        done = subprocess.run([_location.COMMAND, "sweep", path, "--dram", "simple", "--batch-sweep", "--policy", "mp0", "--json"], check=False,
                              capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        last = json.loads(done.stdout)["rows"][-1]
        self.assertTrue(1 <= last["batch"] < 22 and last["largest"])  # 32 MB each
        self.assertEqual(last["beyond"]["batch"], last["batch"] + 1)
        self.assertRegex(last["beyond"]["refused"], "memory")

    def test_commands_run_under_the_enclosing_policy(self):
        with tegula.autocast(dtype="fp16"):
            self.assertIn("autocast", tegula.numerics(self.gemm, arch="tiny")["precision"]["policy"])
            self.assertEqual(tegula.numerics(self.gemm, arch="tiny", policy=["mp1"])["policies"][0]["policy"], "mp1")
            self.assertEqual(tegula.numerics(self.gemm, arch="tiny", graphamp_preset="mp1")["precision"]["policy"], "mp1")

    def test_decisions_and_warnings_are_told(self):
        def told(**options):
            out = io.StringIO()
            with contextlib.redirect_stderr(out):
                tegula.compile(self.gemm, arch="tiny", **options)
            return out.getvalue()
        self.assertEqual(told(preset="mp1"), "")
        self.assertIn("MatMul", told(preset="mp1", verbose=True))
        try:
            hmp.convert(isVerbose=True)
            self.assertIn("matmul", told())
            self.assertEqual(told(verbose=False), "")
            self.assertEqual(tegula.compile(self.gemm, arch="tiny", tiling_accum="bf16sr", verbose=False).run({"A": self.a, "B": self.b})["C"].tobytes(),
                             tegula.compile(self.gemm, arch="tiny", amp="hmp", tiling_accum="bf16sr").run({"A": self.a, "B": self.b})["C"].tobytes())
        finally:
            tegula._regions._stack().clear()
        with self.assertWarns(UserWarning):
            tegula.compile(self.gemm, arch="tiny", preset="mp4", disable_graphamp="no_such_node")

    def test_a_scaler_is_that_of_torch(self):
        mlp = zoo(self.folder, "mlp", "--batch", "4")
        random = numpy.random.default_rng(1)
        data = {"data": random.standard_normal((8, 784)).astype("float32"), "labels": numpy.arange(8) % 10, "loss": "nll",
                "arch": "tiny", "batch": 4, "steps": 2, "lr": 0.01}
        report = tegula.train(mlp, loss_scale=tegula.GradScaler(init_scale=4.0, growth_factor=8.0, growth_interval=1), **data)
        self.assertEqual(report["loss_scale"], 4.0 * 8 * 8)

    def test_runs_a_product_as_numpy_does(self):
        with tegula.compile(self.gemm, arch="tiny") as program:
            self.assertEqual(program.inputs[0], ("A", (9, 5), "f32"))
            self.assertEqual(program.outputs, [("C", (9, 7), "f32")])
            c = program.run({"A": self.a, "B": self.b})["C"]
            numpy.testing.assert_allclose(c, self.a @ self.b, rtol=0, atol=1e-6)
            report = program.report
            self.assertEqual(report["macs"], 9 * 7 * 5)
            again = program.run({"A": 2 * self.a})["C"]  # B stays
            numpy.testing.assert_array_equal(again, 2 * c)
            self.assertEqual(program.run(timing_only=True), {})
            self.assertEqual(program.report["cycles"], report["cycles"])

    def test_options_are_the_commands(self):
        exact = tegula.compile(self.gemm, arch="tiny")
        rounded = tegula.compile(self.gemm, arch="tiny", preset="mp1", settings={"port_bytes": 32}, seed=3)
        inputs = {"A": self.a, "B": self.b}
        difference = abs(exact.run(inputs)["C"] - rounded.run(inputs)["C"]).max()
        self.assertTrue(1e-4 < difference < 0.1)
        report = rounded.report
        self.assertEqual((report["precision"]["policy"], report["arch"]["port_bytes"], report["seed"]), ("mp1", 32, 3))
        printed = subprocess.run([_location.COMMAND, "run", self.gemm, "--arch", "tiny", "--graphamp-preset", "mp1",
                                  "--set", "port_bytes=32", "--random-inputs", "1", "--json"],
                                 check=True, capture_output=True)
        self.assertEqual(report["cycles"], json.loads(printed.stdout)["cycles"])
        slower = tegula.compile(self.gemm, arch="tiny", dram="ddr4-3200")
        slower.run(inputs)
        self.assertEqual(slower.report["arch"]["dram"], "ddr4-3200")
        cheaper = tegula.compile(self.gemm, arch="tiny", energy="7nm")
        cheaper.run(inputs)
        self.assertEqual(cheaper.report["energy"]["prices"], "7nm")
        energy = exact.report["energy"]
        self.assertEqual(cheaper.report["energy"]["actions"], energy["actions"])
        self.assertLess(cheaper.report["energy"]["by_kind"]["mx"], energy["by_kind"]["mx"] / 10)
        with self.assertRaises(TypeError):
            tegula.compile(self.gemm, presett="mp1")

    def test_levels_are_the_commands(self):
        mlp = zoo(self.folder, "mlp")
        x = numpy.random.default_rng(2).standard_normal((1, 784)).astype("float32")
        got = {}
        for level in ("o0", "o1", "o3"):
            program = tegula.compile(mlp, arch="edge", batch=1, opt=level)
            got[level] = next(iter(program.run({program.inputs[0].name: x}).values())).tobytes(), len(program.report["sections"])
        self.assertEqual(got["o0"][0], got["o3"][0])
        self.assertEqual(got["o1"][0], got["o3"][0])
        self.assertGreater(got["o0"][1], got["o1"][1])
        with self.assertRaisesRegex(tegula.Error, "none of o0|o1|o3"):
            tegula.compile(mlp, opt="o2", batch=1)

    def test_attention_by_blocks_is_asked_for(self):
        model = zoo(self.folder, "attention", "--seq", "200", "--hidden", "64", "--heads", "2")
        x = numpy.random.default_rng(3).standard_normal((1, 200, 64)).astype(numpy.float32)
        got = {}
        for attention in ("exact", "blocked:64"):
            program = tegula.compile(model, attention=attention)
            got[attention] = next(iter(program.run({program.inputs[0].name: x}).values()))
            self.assertEqual(program.report["precision"]["attention"], attention)
        self.assertNotEqual(got["exact"].tobytes(), got["blocked:64"].tobytes())
        numpy.testing.assert_allclose(got["blocked:64"], got["exact"], atol=2e-6)
        with self.assertRaisesRegex(tegula.Error, "none of exact.blocked.blocked:N"):
            tegula.compile(model, attention="by rows")

    def test_models_come_as_bytes_and_go_as_programs(self):
        with open(self.gemm, "rb") as file:
            data = file.read()
        path = os.path.join(self.folder, "gemm.tgb")
        first = tegula.compile(b"" + data, arch="tiny")
        first.save(path)
        second = tegula.Program.load(path)
        inputs = {"A": self.a, "B": self.b}
        numpy.testing.assert_array_equal(first.run(inputs)["C"], second.run(inputs)["C"])
        with open(path, "rb") as file:
            third = tegula.Program(file.read(), "bytes")
        numpy.testing.assert_array_equal(first.run(inputs)["C"], third.run(inputs)["C"])
        with self.assertRaisesRegex(tegula.Error, "is a model, not a program"):
            tegula.Program.load(self.gemm)

    def test_errors_are_the_commands_line(self):
        program = tegula.compile(self.gemm, arch="tiny")
        with self.assertRaisesRegex(tegula.Error, "there is no report before a run"):
            program.report
        with self.assertRaisesRegex(tegula.Error, r'input "A" has shape \[9,5\], given is \[3,5\]') as caught:
            program.run({"A": self.a[:3], "B": self.b})
        self.assertEqual(caught.exception.status, 2)
        for model, why in (("missing.onnx", "No such file"), (b"nothing", "model: ")):
            with self.assertRaisesRegex(tegula.Error, why):
                tegula.compile(model)
        with self.assertRaisesRegex(tegula.Error, "rows"):
            tegula.compile(self.gemm, settings={"rows": 99})
        with self.assertRaises(tegula.Error) as caught:
            program.run({"A": self.a, "B": self.b}, max_cycles=3)
        self.assertEqual(caught.exception.status, 3)

    def test_progress_is_told_and_may_end_the_run(self):
        program = tegula.compile(zoo(self.folder, "mlp"), arch="tiny")
        seen = []
        program.run(random_inputs=1, progress=lambda section, count: seen.append((section, count)))
        self.assertTrue(len(seen) > 1)
        self.assertEqual(seen, [(i, len(seen)) for i in range(len(seen))])

        def interrupt(section, _):
            if section == 1:
                raise KeyboardInterrupt

        for engine in ("functional", "systemc"):
            with self.assertRaises(KeyboardInterrupt):
                program.run(engine=engine, progress=interrupt)

    def test_verify_compares_engines(self):
        result = tegula.compile(self.gemm, arch="tiny")
        result.run({"A": self.a, "B": self.b})
        answer = result.verify(engines="functional,systemc")
        self.assertTrue(answer["equal_bits"] and answer["equal_cycles"])
        self.assertEqual(answer["engines"]["systemc"]["cycles"], result.report["cycles"])
        self.assertTrue(tegula.verify(self.gemm, arch="tiny", engines="functional,systemc", random_inputs=1)["equal_bits"])

    def test_runs_are_compared(self):
        exact, rounded = (tegula.compile(self.gemm, arch="tiny", preset=preset) for preset in ("mp0", "mp1"))
        c = [program.run({"A": self.a, "B": self.b})["C"] for program in (exact, rounded)]
        told = rounded.compare(exact)
        self.assertEqual((told["before"]["cycles"], told["now"]["cycles"]), (exact.report["cycles"], rounded.report["cycles"]))
        self.assertAlmostEqual(told["outputs"]["C"]["max_abs"], abs(c[1] - c[0]).max(), 6)
        self.assertFalse(told["equal_bits"])
        self.assertTrue(exact.compare(exact)["equal_bits"])
        with self.assertRaisesRegex(tegula.Error, "run"):
            exact.compare(tegula.compile(self.gemm, arch="tiny"))

    def test_sweep_mirrors_the_command(self):
        rows = tegula.sweep(self.gemm, arch="tiny", policy=["mp0", "mp1"], tiling_accum="fp32")["rows"]
        self.assertEqual([row["policy"] for row in rows], ["mp0", "mp1"])
        with self.assertRaisesRegex(tegula.Error, "there is no policy"):
            tegula.sweep(self.gemm, policy=["mp9"])

    def test_train_lowers_the_loss(self):
        random = numpy.random.default_rng(2)
        x = random.standard_normal((64, 784)).astype("float32")
        labels = (x[:, :10].argmax(axis=1)).astype("int64")
        report = tegula.train(zoo(self.folder, "mlp"), data=x, labels=labels, loss="cross_entropy", optimizer="sgd",
                              lr=0.1, batch=32, steps=6, arch="tiny", engine="functional")
        self.assertEqual(report["steps"], 6)
        self.assertLess(report["loss"]["last"], report["loss"]["first"])

    def test_policies_by_context(self):
        with tegula.autocast(dtype="bf16"):
            program = tegula.compile(self.gemm, arch="tiny")
            with tegula.autocast(enabled=False):
                plain = tegula.compile(self.gemm, arch="tiny")
        for each, policy in ((program, "autocast cuda bf16"), (plain, "mp0")):
            each.run({"A": self.a, "B": self.b})
            self.assertEqual(each.report["precision"]["policy"], policy)
        hmp.convert(opt_level="O2")
        try:
            program = tegula.compile(self.gemm, arch="tiny")
        finally:
            tegula._regions._stack().clear()
        program.run({"A": self.a, "B": self.b})
        self.assertEqual(program.report["precision"]["hmp_opt_level"], "O2")


@unittest.skipIf(torch is None, "python3-torch is not installed")
class Torch(unittest.TestCase):
    def test_a_module_in_one_call_with_a_region(self):
        class Network(torch.nn.Module):
            def __init__(self, off):
                super().__init__()
                self.first, self.second, self.off = torch.nn.Linear(16, 32), torch.nn.Linear(32, 8), off

            def forward(self, x):
                if not self.off:
                    return self.second(torch.relu(self.first(x)))
                with tegula.disable_graphamp():
                    return self.second(torch.relu(self.first(x)))

        torch.manual_seed(1)
        x = torch.randn(4, 16)
        marked, plain = Network(True), Network(False)
        plain.load_state_dict(marked.state_dict())
        wanted = plain(x).detach().numpy()
        errors = [abs(next(iter(tegula.compile(network, example_inputs=x, arch="tiny", preset=preset)
                                .run({"x": x.numpy()}).values())) - wanted).max()
                  for network, preset in ((plain, None), (plain, "mp1"), (marked, "mp1"))]
        self.assertTrue(errors[0] < 1e-6)
        self.assertTrue(errors[1] > 1e-4)
        self.assertTrue(errors[2] < 1e-6)


    def test_a_module_runs_as_it_is_called(self):
        class Sum(torch.nn.Module):
            def forward(self, a, b):
                return a @ b

        a, b = torch.randn(4, 6, requires_grad=True), torch.randn(6, 5)
        with tegula.compile(Sum(), (a, b), arch="tiny") as program:
            wanted = (a @ b).detach().numpy()
            names = [tensor.name for tensor in program.inputs]
            for inputs in ((a, b), [a, b.numpy()], {names[1]: b, names[0]: a}):
                numpy.testing.assert_allclose(next(iter(program.run(inputs).values())), wanted, rtol=0, atol=1e-5)
            with self.assertRaisesRegex(tegula.Error, "3 inputs are given, the program has 2: "):
                program.run((a, b, b))
        linear = torch.nn.Linear(6, 3)
        with tegula.compile(linear, a, arch="tiny") as program:
            numpy.testing.assert_allclose(next(iter(program.run(a).values())), linear(a).detach().numpy(), rtol=0, atol=1e-5)
            rounded = a.detach().bfloat16()
            numpy.testing.assert_array_equal(*(next(iter(program.run(x).values())) for x in (rounded, rounded.float())))

    def test_a_module_has_any_batch(self):
        class Network(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.head = torch.nn.Conv2d(5, 13, 3, padding=1, stride=2), torch.nn.Linear(13, 3)

            def forward(self, x):
                return self.head(torch.relu(self.conv(x)).flatten(2).mean(2))

        torch.manual_seed(1)
        network, x, many = Network().eval(), torch.randn(3, 5, 17, 9), torch.randn(7, 5, 17, 9)
        for data, batch in ((x, None), (x, 3), (many, 7)):
            program = tegula.compile(network, example_inputs=x, arch="tiny", batch=batch)
            numpy.testing.assert_allclose(next(iter(program.run({"x": data.numpy()}).values())), network(data).detach().numpy(), atol=1e-6)
        rows = tegula.batch_sweep(network, example_inputs=x, arch="tiny", policies=("mp0",), most=3)
        self.assertEqual([row["batch"] for row in rows], [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
