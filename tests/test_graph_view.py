"""autograd.graph: drawings and lists against graphs worked out by hand."""
import re

import numpy as np
import pytest

import python_api as paddle
from python_api.autograd import graph


def tensor(*shape, requires_grad=True, name=""):
    return paddle.Tensor(np.linspace(0.1, 1.0, int(np.prod(shape))).reshape(shape), stop_gradient=not requires_grad, name=name)


def kinds(*tensors):
    return [(node.kind, node.name, node.inplace) for node in graph.nodes(*tensors)]


def test_nodes_and_edges():
    x, w = tensor(4, name="x"), tensor(4, name="w")
    y = (x * w).exp_()
    loss = y.sum()
    assert kinds(loss) == [("operator", "SumGradNode", False), ("operator", "ExpGradNode", True), ("operator", "MultiplyGradNode", False),
                           ("leaf", "x", False), ("leaf", "w", False)]
    found = graph.nodes(loss)
    assert [node.edges for node in found] == [((1, 0),), ((2, 0),), ((3, 0), (4, 0)), (), ()]
    assert found[0].outputs == (((), "float64"),)
    assert found[1].outputs == (((4,), "float64"),)
    assert not any(node.freed for node in found)


def test_constants_have_no_graph_and_no_edges():
    x, c = tensor(4), tensor(4, requires_grad=False)
    assert graph.nodes(c) == []
    assert graph.nodes(x * c)[0].edges == ((1, 0), None)
    assert "t0" in graph.to_dot(c)


def test_several_roots_share_their_nodes():
    x = tensor(4)
    y = x.exp()
    assert [node.name for node in graph.nodes(y.sum(), y)] == ["SumGradNode", "ExpGradNode", ""]


def test_views_and_region_writes():
    x = tensor(3, 4)
    y = x * 1.0
    y[1] = 0.5                  # constant: one edge, to what was there
    y[2, 1:3].exp_()            # through a view
    found = {node.name: node for node in graph.nodes(y)}
    writes = [node for node in graph.nodes(y) if node.kind == "write"]
    assert [(node.region, node.name) for node in writes] == [(((2,), 9), writes[0].name), (((4,), 4), writes[1].name)]
    assert [edge is None for edge in writes[1].edges] == [False, True]
    assert found["ExpGradNode"].inplace
    views = [node for node in graph.nodes(y) if node.kind == "view"]
    assert ((2,), 1) in [node.region for node in views] or ((2,), 9) in [node.region for node in views]
    text = graph.to_dot(y)
    assert text.count("shape=octagon") == 2
    assert text.count("style=dashed") == len(views) > 0
    assert "writes [2] from element 9" in text


def test_reshape_in_place_is_marked():
    x = tensor(6)
    y = x * 1.0
    y.reshape_([2, 3])
    first = graph.nodes(y)[0]
    assert (first.kind, first.inplace, first.outputs) == ("view", True, (((2, 3), "float64"),))


def test_in_place_mark_does_not_stay_on_a_recycled_node():
    x = tensor(4)
    for _ in range(300):
        y = (x * 1.0).exp_()
        assert graph.nodes(y)[0].inplace
        del y
    assert not any(node.inplace for _ in range(300) for node in graph.nodes((x * 1.0).exp()))


def test_saved_values_and_bytes():
    n = 1000
    x, w = tensor(n), tensor(n)
    a = x * w               # saves x and w
    b = a.exp()             # saves its result
    c = b.sin()             # saves b, the same memory
    loss = (c + x).sum()    # add and sum save shapes at most
    saved = graph.saved_tensors(loss)
    kept = [(one.node, one.role, one.nbytes, one.version, one.state) for one in saved if one.state != "shape only"]
    assert sorted(kept) == [("ExpGradNode", "output", 8 * n, 0, "kept"), ("MultiplyGradNode", "input 0", 8 * n, 0, "kept"),
                            ("MultiplyGradNode", "input 1", 8 * n, 0, "kept"), ("SinGradNode", "input 0", 8 * n, 0, "kept")]
    assert saved.nbytes == 3 * 8 * n  # x, w, b
    by_node = {one.node: one.memory for one in saved if one.node in ("ExpGradNode", "SinGradNode")}
    assert len(set(by_node.values())) == 1
    assert str(saved).splitlines()[-1] == f"{len(saved)} values, {3 * 8 * n} B of memory"


def test_saved_part_holds_all_of_its_memory():
    x = tensor(10, 100)
    y = x * 1.0
    z = y[3].sin()
    (one,) = [one for one in graph.saved_tensors(z) if one.state != "shape only"]
    assert (one.shape, one.nbytes, one.memory_nbytes) == ((100,), 800, 8000)
    assert graph.saved_tensors(z).nbytes == 8000


def test_bytes_agree_with_what_backward_frees():
    from eager_core.storage import bytes_in_use

    x = tensor(1000)
    loss = (x * 1.0).exp().tanh().sin().sum()
    held = graph.saved_tensors(loss).nbytes
    assert held == 2 * 8000     # the results of exp and of tanh, which sin saves as well; a product with a number saves nothing
    before = bytes_in_use()
    loss.backward()
    x.clear_gradient(set_to_zero=False)
    assert before - bytes_in_use() == held


def test_overwritten_versions_and_freed():
    x = tensor(4)
    y = x.exp()
    loss = y.sum()
    y.add_(1.0)
    exp = next(node for node in graph.nodes(loss) if node.name == "ExpGradNode")
    (one,) = exp.saved
    assert (one.version, one.version_now, one.state) == (0, 1, "overwritten")
    assert "output float64[4], 32 B, version 0, OVERWRITTEN (now version 1)" in graph.to_dot(loss)
    assert "#c00000" in graph.to_dot(loss)
    assert "Tensor [4], version 1" in graph.to_mermaid(y)
    z = x.tanh()
    total = z.sum()
    total.backward()
    (first, *_) = graph.nodes(total)
    assert first.freed
    assert first.edges == ()
    assert graph.saved_tensors(total) == []
    assert "freed by a backward pass" in graph.to_mermaid(total)


def test_written_elsewhere_is_not_overwritten():
    """S5.13"""
    u = paddle.zeros([3, 4], "float64")
    u[0] = tensor(4)
    u[1] = u[0].tanh()
    u[2] = u[1].sin()
    assert {one.state for one in graph.saved_tensors(u)} <= {"kept", "shape only"}


def test_packed_values():
    x = tensor(4)
    with paddle.autograd.saved_tensors_hooks(lambda t: t.numpy(), paddle.to_tensor):
        y = x.exp()
    (one,) = graph.nodes(y)[0].saved
    assert (one.state, one.memory) == ("packed", 0)
    assert graph.saved_tensors(y).nbytes == 0
    assert "packed by a hook" in graph.to_dot(y)


def test_hooks_are_counted():
    x = tensor(4)
    y = x.exp()
    y.register_hook(lambda g: g)
    assert graph.nodes(y)[0].hooks == 1
    assert "hooks: 1" in graph.to_mermaid(y)


def test_custom_functions_by_name():
    class Twice(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2.0

        @staticmethod
        def backward(ctx, g):
            return g * 2.0

    x = tensor(4)
    (first, _) = graph.nodes(Twice.apply(x))
    assert first.name == "GradNodePyLayer_Twice"
    assert [one.nbytes for one in first.saved] == [32]


def test_texts_are_well_formed():
    x = tensor(3, 4, name='a "quoted" <name>\\')
    y = x * 1.0
    y[1] = x[0].exp()
    y.tanh_()
    loss = y.sum()
    dot = graph.to_dot(loss)
    assert dot.startswith("digraph {\n")
    assert dot.endswith("}\n")
    string = r'"(?:[^"\\\n]|\\.)*"'
    for line in dot.splitlines()[1:-1]:
        assert re.fullmatch(rf"    (\w+( -> \w+)?)( \[\w+=({string}|\w+)(, ?\w+=({string}|\w+))*\])?", line), line
    declared = set(re.findall(r"^    (\w+) \[", dot, re.MULTILINE)) - {"node"}
    assert {name for pair in re.findall(r"(\w+) -> (\w+)", dot) for name in pair} == declared
    assert len(declared) == 1 + len(graph.nodes(loss))
    mermaid = graph.to_mermaid(loss)
    assert mermaid.startswith("flowchart TD\n")
    for line in mermaid.splitlines()[1:]:
        assert re.fullmatch(r'    (\w+(\(\[|\[|\{\{)"[^"]*"(\]\)|\]|\}\})|\w+ -->(\|"[^"]*"\|)? \w+|classDef \w+ \S+|class [\w,]+ \w+)',
                            line), line
    assert mermaid.count(" -->") == dot.count(" -> ")
    assert "TanhGradNode, in place" in mermaid


def test_looking_changes_nothing():
    x = tensor(4)
    y = (x * 2.0).exp_()
    loss = y.sum()
    for look in (graph.nodes, graph.to_dot, graph.to_mermaid, graph.saved_tensors):
        look(loss, y, x)
    assert y.inplace_version == 1
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2.0 * np.exp(2.0 * np.linspace(0.1, 1.0, 4)), rtol=1e-14)


def test_long_graphs_need_no_recursion():
    x = tensor(1)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    assert len(graph.nodes(y)) == 20_001


def test_what_is_no_tensor_refuses():
    with pytest.raises(TypeError, match=r"a graph lies behind a Tensor, but got list"):
        graph.nodes([1.0])
