/* The row of an operator, as the generator writes it, and the parameters of its signature. Constant data, no Python. */
#ifndef EAGER_OP_H
#define EAGER_OP_H
#include <stdint.h>

#define EAGER_MAX_ATTRS 6
#define EAGER_MAX_SAVED 4

enum eager_param_kind {
    PARAM_TENSOR,       /* a Tensor */
    PARAM_OPERAND,      /* a Tensor, a Python number, a NumPy array or scalar */
    PARAM_TENSORS,      /* a list or tuple of Tensors */
    PARAM_OPTIONAL,     /* a Tensor or None */
    PARAM_FLOAT, PARAM_INT, PARAM_BOOL, PARAM_STR,
    PARAM_INTS,         /* an int, or a list or tuple of ints (also a Tensor of ints) */
    PARAM_AXES,         /* None, an int, or a list or tuple of ints */
    PARAM_DTYPE,        /* None or a dtype */
    PARAM_NUMBER,       /* None, a Python number or a 1-element Tensor */
    PARAM_OBJECT,       /* anything: the rule looks at it */
    PARAM_IGNORED       /* name=None and its like, accepted for the reference's sake */
};

typedef struct {
    const char *name;           /* in public signatures */
    const char *lowlevel;       /* in the entry point's attribute list, or input name; NULL: not offered there */
    int kind;
    int slot;                   /* index among the tensors or among the attributes */
    int required;
    double fallback;            /* default of FLOAT, INT, BOOL; objects default to None */
} eager_param;

enum eager_family {
    FAMILY_UNARY, FAMILY_BINARY, FAMILY_TERNARY, FAMILY_CLIP, FAMILY_SCALE, FAMILY_GELU, FAMILY_REDUCTION, FAMILY_UNREDUCE, FAMILY_MATMUL,
    FAMILY_ROWS, FAMILY_CAST, FAMILY_PICK, FAMILY_PUT, FAMILY_VIEW, FAMILY_GETITEM, FAMILY_SETITEM, FAMILY_ARRAY, FAMILY_BROADCAST, FAMILY_LINALG,
    FAMILY_NODE, FAMILIES
};

enum eager_dtype_rule {
    RESULT_SAME,        /* of the promoted inputs */
    RESULT_FLOAT,       /* integers become floating point: a quotient float64, a function what NumPy says, but never float16 */
    RESULT_BOOL,
    RESULT_REAL,        /* the real counterpart of a complex input */
    RESULT_LOGICAL,     /* inputs are taken for their truth, the result is bool */
    RESULT_WHOLE        /* of the input; integers are results already */
};

enum eager_commutes {
    COMMUTES_NEVER,
    COMMUTES_REAL,      /* of complex numbers one of the products may be fused into the sum, so the bits may differ */
    COMMUTES_ALWAYS
};

typedef struct {
    int id;
    const char *name;           /* public name, without the in-place underscore */
    const char *lowlevel;       /* name of the entry point after eager_api_ */
    const char *node_name;      /* what grad_fn.name() says */
    int family;
    int kernel;                 /* family's own numbering */
    int dtype_rule;
    int n_tensors;              /* tensor inputs; -1: one list of them */
    int n_attrs;
    double defaults[EAGER_MAX_ATTRS];       /* of attributes; objects default to NULL */
    uint32_t differentiable;    /* bit i: input i has a gradient; 0: the operator has none */
    int n_saved;
    int8_t saved[EAGER_MAX_SAVED];          /* input index, or 16 + output index, + 64 when only shape and dtype are kept */
    uint32_t uses[EAGER_MAX_SAVED];         /* bit i: the gradient of input i needs this value */
    int n_inputs;                           /* of the entry point: tensors, some of which may stand for attributes */
    const char *const *input_names;         /* X, Y, ... */
    const int8_t *input_slots;              /* tensor index, or -1 - k: a tensor in place of parameter k; None is accepted there */
    int n_results;
    const char *const *result_names;        /* Out, XShape */
    int n_params;
    const eager_param *params;
    const char *signature;      /* "exp(x, name=None)" */
    const char *doc;
    int commutes;               /* whether op(y, x) is op(x, y), bit by bit */
    int spares;                 /* its in-place form writes into the target straight away, so that no memory is taken for a result */
} eager_op_row;
#endif
