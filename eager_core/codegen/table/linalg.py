"""Rows of linear algebra and of complex numbers. Composites of these rows are Python functions: ``python_api/linalg.py``."""
from __future__ import annotations

from ..model import Op
from .builders import COMPLEX, NAME, REAL, UNARY


def decomposition(name: str, signature: str, doc: str, kernel: str, results: tuple[str, ...], grad: dict[str, str], formula: str,
                  public: bool = True, inputs: tuple[str, ...] = ("X",), result: str = "", family: str = "array") -> Op:
    return Op(name, family, signature, doc, kernel="linalg." + kernel, results=results, inputs=inputs, grad=grad, formula=formula,
              public=public, method=public, result=result)


OPS: tuple[Op, ...] = (
    # ---- systems of equations -----------------------------------------------------------------------------------------------------------
    Op("inverse", "linalg", UNARY, "Inverses of square matrices. A singular matrix is an error.", kernel="linalg.inverse",
       inputs=("Input",), results=("Output",), grad="inverse_backward", saves=("out",),
       formula="-out^H grad out^H (Giles 2008, 2.2.3)"),
    Op("solve", "linalg", "x: tensor, y: tensor, left: bool = True" + NAME,
       "Solution of x out = y, or of out x = y if left is False. y is a vector if it has one axis, or the shape of x without the last.",
       kernel="linalg.solve", inputs=("X", "Y"),
       grad="solve_backward", saves=("x", "out for x", "y.meta"),
       formula="-(x^-H grad) out^H; x^-H grad (Giles 2008, 2.3.1)"),
    Op("triangular_solve", "linalg",
       "x: tensor, y: tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False" + NAME,
       "Solution of x out = y (x^T out = y if transpose) where only one triangle of x is read.", kernel="linalg.triangular_solve",
       inputs=("X", "Y"),
       grad={"x": "linalg.triangular_grad_x(grad, x, out, upper, transpose, unitriangular)",
             "y": "linalg.triangular_grad_y(grad, x, y.meta, upper, transpose, unitriangular)"},
       formula="the triangle of -(x^-H grad) out^H; x^-H grad (Giles 2008, 2.3.1)"),
    decomposition("cholesky", "x: tensor, upper: bool = False" + NAME,
                  "Lower L with x = L L^H (upper: U^H U) of Hermitian positive definite matrices, of which one triangle is read.",
                  "cholesky", ("Out",), {"x": "linalg.cholesky_grad(grad, out, upper)"},
                  "sym(L^-H Phi(L^H grad) L^-1), Hermitian (Murray 2016, eq. 10)", family="linalg"),
    Op("pinv", "array", "x: tensor, rcond: float = 1e-15, hermitian: bool = False" + NAME, "Pseudo-inverses of matrices (Moore, Penrose). "
       "Singular values below rcond times the largest count as zero; the gradient is that along matrices of the same rank.",
       kernel="linalg.pinv", grad={"x": "linalg.pinv_grad(grad, x, out, hermitian)"},
       formula="-p^H grad p^H + (1 - x p) grad^H p p^H + p^H p grad^H (1 - p x) (Golub & Pereyra 1973, 4.12)"),
    decomposition("lstsq_solution", "x: tensor, y: tensor, rcond: float",
                  "Solution of the least-squares problem, of smallest norm, and the rank.",
                  "lstsq_solution", ("Solution", "Rank"),
                  {"x": "linalg.lstsq_grad_x(grad, x, y, out, rcond)", "y": "linalg.lstsq_grad_y(grad, x, y.meta, rcond)"},
                  "as of pinv(x) y (Golub & Pereyra 1973)", public=False, inputs=("X", "Y")),
    # ---- determinants -------------------------------------------------------------------------------------------------------------------
    Op("det", "linalg", UNARY, "Determinants of square matrices; the gradient is that of a polynomial, also at singular matrices.",
       kernel="linalg.det", lowlevel="determinant", inputs=("Input",), grad={"x": "linalg.det_grad(grad, x)"},
       formula="grad conj(cofactor(x)) (Giles 2008, 2.2.4)"),
    Op("cofactor", "linalg", UNARY, "Matrices of cofactors, det(x) x^-T where x is regular.", kernel="linalg.cofactor", public=False,
       method=False, grad={"x": "linalg.cofactor_grad(grad, x)"}, formula="conj(Hessian of det) grad"),
    Op("cofactor_slope", "array", "v: tensor, x: tensor", "Change of the cofactors of x along v.", kernel="linalg.cofactor_slope",
       public=False, method=False, inputs=("V", "X"),
       grad={"v": "linalg.cofactor_slope_grad(grad, x)", "x": "linalg.third_derivative_of_det(grad)"},
       formula="conj(Hessian of det) grad; none"),
    Op("slogdet", "linalg", UNARY, "Sign and logarithm of the absolute value of determinants, stacked along a new first axis.",
       kernel="linalg.slogdet", lowlevel="slogdeterminant", inputs=("Input",), grad={"x": "linalg.slogdet_grad(grad, x, out)"},
       formula="grad[1] x^-H (Giles 2008, 2.2.4)"),
    # ---- decompositions -----------------------------------------------------------------------------------------------------------------
    decomposition("qr_factor", "x: tensor, complete: bool = False", "Q and R with x = Q R.", "qr", ("Q", "R"),
                  {"x": "linalg.qr_grad(grad, grad_1, out, out_1)"},
                  "(grad_q + Q copyltu(R grad_r^H - grad_q^H Q)) R^-H (Walter & Lehmann 2010; wide: Roberts & Roberts 2020)", public=False),
    decomposition("svd", "x: tensor, full_matrices: bool = False" + NAME, "U, S and VH with x = U diag(S) VH; equal singular values have "
                  "no singular vectors to differentiate: an error, unless only S is used.", "svd", ("U", "S", "VH"),
                  {"x": "linalg.svd_grad(grad, grad_1, grad_2, out, out_1, out_2)"}, "Townsend 2016; complex: Wan & Zhang 2019",
                  result="that of the input; of S the real one"),
    decomposition("eigh_lower", "x: tensor, upper: bool = False", "Eigenvalues in ascending order and eigenvectors of Hermitian matrices.",
                  "eigh", ("Eigenvalues", "Eigenvectors"), {"x": "linalg.eigh_grad(grad, grad_1, out, out_1)"},
                  "V (diag(grad_w) + (V^H grad_v) / (w_j - w_i)) V^H, Hermitian (Giles 2008, 3.1)", public=False),
    decomposition("eig", UNARY, "Complex eigenvalues and eigenvectors, of norm 1, of square matrices.", "eig",
                  ("Eigenvalues", "Eigenvectors"),
                  {"x": "linalg.eig_grad(grad, grad_1, out, out_1)"},
                  "V^-H (diag(grad_w) + (V^H grad_v - V^H V Re diag(V^H grad_v)) / conj(w_j - w_i)) V^H (Boeddeker et al. 2017, 4.77)",
                  result=COMPLEX),
    decomposition("lu_factor", "x: tensor", "L and U packed into one matrix, pivots counted from 1, and where a pivot was zero.", "lu",
                  ("Out", "Pivots", "Infos"), {"x": "linalg.lu_grad(grad, out, out_1)"},
                  "P L^-H (tril(L^H grad_l, -1) + triu(grad_u U^H)) U^-H (Giles 2008, 3.3 generalised)", public=False),
    Op("matrix_exp", "array", UNARY, "Exponentials of square matrices.", kernel="linalg.matrix_exp",
       grad={"x": "linalg.matrix_exp_grad(grad, x)"},
       formula="the upper right block of exp([[x^H, grad], [0, x^H]]) (Najfeld & Havel 1995; Al-Mohy & Higham 2009)"),
    # ---- norms and products -------------------------------------------------------------------------------------------------------------
    Op("p_norm", "array", "x: tensor, p: float = 2.0, axis: axes = None, keepdim: bool = False", "Norms (sum |x|^p)^(1/p) over axes; for "
       "infinite p the largest or smallest |x|, for 0 the number of elements that are not 0. Where there is no gradient it is 0: at "
       "elements that are 0 and where the norm is 0. Equal largest ones share it evenly.", kernel="linalg.p_norm", result=REAL,
       public=False, method=False,
       grad={"x": "linalg.p_norm_grad(grad, x, out, p, axis, keepdim)"}, formula="grad sign(x) (|x| / out)^(p-1)"),
    Op("renorm", "array", "x: tensor, p: float, axis: int, max_norm: float", "Slices along an axis whose p-norm is above max_norm, scaled "
       "down to it; the others as they are.", kernel="linalg.renorm", inplace=True,
       grad={"x": "linalg.renorm_grad(grad, x, p, axis, max_norm)"},
       formula="grad f + (norm's gradient of sum(grad x) df/dnorm), f = max_norm / norm; grad where the norm is not above"),
    *(Op(name, "array", "input: tensor, x: tensor, y: tensor, beta: float = 1.0, alpha: float = 1.0" + NAME,
         f"beta input + alpha (x matmul y), {what}.", kernel="linalg." + name, inputs=("Input", "X", "Y"), inplace=True,
         grad={"input": "manipulation.sum_to(grad * beta, input.meta)", "x": "linalg.addmm_grad_x(grad, y, alpha)",
               "y": "linalg.addmm_grad_y(grad, x, alpha)"}, formula="beta grad; alpha grad y^H; alpha x^H grad")
      for name, what in (("addmm", "of matrices"), ("baddbmm", "of stacks of matrices"))),
    # ---- complex numbers ----------------------------------------------------------------------------------------------------------------
    Op("as_complex", "array", UNARY, "Complex numbers from pairs along the last axis; a copy.", result=COMPLEX, kernel="linalg.as_complex",
       aliases=("view_as_complex",), grad={"x": "linalg.as_real(grad)"}, formula="as_real(grad)"),
    Op("as_real", "array", UNARY, "Real and imaginary parts along a new last axis; a copy.",
       result="the real one of the input's dtype", kernel="linalg.as_real",
       aliases=("view_as_real",), grad={"x": "linalg.as_complex(grad)"}, formula="as_complex(grad)"),
)
