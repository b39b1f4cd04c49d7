/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels by their names. The first pattern that a name contains decides; the order is what makes
 * it right: a fused attention kernel is built of GEMM templates, an Adam step of foreach templates.
 * Names as in the kernels of PyTorch, cuBLAS, cuDNN, CUTLASS, FlashAttention, Transformer Engine,
 * Apex, Triton, NCCL, RCCL, DeepEP, hipBLASLt and FBGEMM.
 */
#include "trace/classify.h"

#include <string.h>

enum { LONGEST_LOOK = 600 }; /* template arguments behind it say nothing new */

typedef struct pattern {
    const char *text; /* lower case */
    st_trace_class class_;
} pattern;

static const pattern patterns[] = {
    {"nccl", ST_TRACE_COMMUNICATION},
    {"rccl", ST_TRACE_COMMUNICATION},
    {"dpsk::ep", ST_TRACE_COMMUNICATION},
    {"deep_ep::", ST_TRACE_COMMUNICATION},
    {"nvshmem", ST_TRACE_COMMUNICATION},
    {"one_shot_all_reduce", ST_TRACE_COMMUNICATION},
    {"two_shot_all_reduce", ST_TRACE_COMMUNICATION},
    {"cross_device_reduce", ST_TRACE_COMMUNICATION},
    {"adam", ST_TRACE_OPTIMIZER},
    {"adagrad", ST_TRACE_OPTIMIZER},
    {"fusedsgd", ST_TRACE_OPTIMIZER},
    {"sgdfunctor", ST_TRACE_OPTIMIZER},
    {"lambstage", ST_TRACE_OPTIMIZER},
    {"lambfunctor", ST_TRACE_OPTIMIZER}, /* not the lambdas in the names of PyTorch */
    {"l2norm", ST_TRACE_OPTIMIZER},
    {"lpnorm", ST_TRACE_OPTIMIZER},
    {"amp_update_scale", ST_TRACE_OPTIMIZER},
    {"multi_tensor_apply", ST_TRACE_OPTIMIZER},
    {"memcpy", ST_TRACE_MEMORY},
    {"memset", ST_TRACE_MEMORY},
    {"flash", ST_TRACE_ATTENTION},
    {"fmha", ST_TRACE_ATTENTION},
    {"attention", ST_TRACE_ATTENTION},
    {"attn", ST_TRACE_ATTENTION},
    {"mha_", ST_TRACE_ATTENTION},
    {"softmax", ST_TRACE_ATTENTION},
    {"layer_norm", ST_TRACE_NORM},
    {"layernorm", ST_TRACE_NORM},
    {"rms_norm", ST_TRACE_NORM},
    {"rmsnorm", ST_TRACE_NORM},
    {"batch_norm", ST_TRACE_NORM},
    {"batchnorm", ST_TRACE_NORM},
    {"group_norm", ST_TRACE_NORM},
    {"groupnorm", ST_TRACE_NORM},
    {"cudnn::bn_", ST_TRACE_NORM},
    {"bnfwd", ST_TRACE_NORM},
    {"bnbwd", ST_TRACE_NORM},
    {"bn_fw_", ST_TRACE_NORM},
    {"bn_bw_", ST_TRACE_NORM},
    {"gammabeta", ST_TRACE_NORM},
    {"ln_fwd", ST_TRACE_NORM},
    {"ln_bwd", ST_TRACE_NORM},
    {"cucomputegradinput", ST_TRACE_NORM},
    {"cucomputepartgrad", ST_TRACE_NORM},
    {"cuapplylayer", ST_TRACE_NORM},
    {"gemm", ST_TRACE_GEMM},
    {"gemv", ST_TRACE_GEMM},
    {"cutlass", ST_TRACE_GEMM},
    {"cijk_", ST_TRACE_GEMM},
    {"matmul", ST_TRACE_GEMM},
    {"nvjet", ST_TRACE_GEMM},
    {"xmma", ST_TRACE_GEMM},
    {"cudnn_", ST_TRACE_GEMM},
    {"scudnn", ST_TRACE_GEMM},
    {"hcudnn", ST_TRACE_GEMM},
    {"convolve", ST_TRACE_GEMM},
    {"conv2d", ST_TRACE_GEMM},
    {"conv3d", ST_TRACE_GEMM},
    {"convolution", ST_TRACE_GEMM},
    {"wgrad", ST_TRACE_GEMM},
    {"dgrad", ST_TRACE_GEMM},
    {"fprop", ST_TRACE_GEMM},
    {"winograd", ST_TRACE_GEMM},
    {"fft2d", ST_TRACE_GEMM},
    {"splitk", ST_TRACE_GEMM},
    {"cublas", ST_TRACE_GEMM},
    {"im2col", ST_TRACE_GEMM},
    {"miopen", ST_TRACE_GEMM},
    {"mfma", ST_TRACE_GEMM},
    {"catarraybatched", ST_TRACE_MEMORY},
    {"direct_copy", ST_TRACE_MEMORY},
    {"fillfunctor", ST_TRACE_MEMORY},
    {"index", ST_TRACE_MEMORY},
    {"embedding", ST_TRACE_MEMORY},
    {"gather", ST_TRACE_MEMORY},
    {"scatter", ST_TRACE_MEMORY},
    {"permute", ST_TRACE_MEMORY},
    {"transpose", ST_TRACE_MEMORY},
    {"nchwtonhwc", ST_TRACE_MEMORY},
    {"nhwctonchw", ST_TRACE_MEMORY},
    {"copy", ST_TRACE_MEMORY},
    {"elementwise", ST_TRACE_ELEMENTWISE},
    {"reduce_kernel", ST_TRACE_ELEMENTWISE},
    {"dropout", ST_TRACE_ELEMENTWISE},
    {"gelu", ST_TRACE_ELEMENTWISE},
    {"silu", ST_TRACE_ELEMENTWISE},
    {"swiglu", ST_TRACE_ELEMENTWISE},
    {"relu", ST_TRACE_ELEMENTWISE},
    {"activation", ST_TRACE_ELEMENTWISE},
    {"pool", ST_TRACE_ELEMENTWISE},
    {"tensor_op", ST_TRACE_ELEMENTWISE},
    {"rotary", ST_TRACE_ELEMENTWISE},
    {"rope", ST_TRACE_ELEMENTWISE},
    {"pointwise", ST_TRACE_ELEMENTWISE},
    {"triton_poi", ST_TRACE_ELEMENTWISE},
    {"triton_red", ST_TRACE_ELEMENTWISE},
    {"triton_per", ST_TRACE_ELEMENTWISE},
    {"fused", ST_TRACE_ELEMENTWISE},
    {"triton_", ST_TRACE_ELEMENTWISE}, /* of Inductor before 2023, whose names say no more */
};

const char *st_trace_class_name(st_trace_class class_)
{
    static const char *const names[ST_TRACE_CLASSES] = {
        "gemm", "attention", "norm", "elementwise", "optimizer", "memory", "communication", "other",
    };
    return class_ < ST_TRACE_CLASSES ? names[class_] : "";
}

st_trace_class st_trace_classify(const char *name)
{
    char lower[LONGEST_LOOK + 1];
    size_t length = strnlen(name, LONGEST_LOOK);
    for (size_t i = 0; i < length; i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
    lower[length] = '\0';
    for (size_t i = 0; i < ST_COUNT(patterns); i++)
        if (strstr(lower, patterns[i].text) != NULL)
            return patterns[i].class_;
    return ST_TRACE_OTHER;
}

typedef struct call_pattern {
    const char *text;
    st_trace_call call;
} call_pattern;

st_trace_call st_trace_call_of(const char *name)
{
    static const call_pattern calls[] = {
        {"Query", ST_CALL_QUERY},
        {"EventRecord", ST_CALL_RECORD},
        {"StreamWaitEvent", ST_CALL_WAIT},
        {"StreamSynchronize", ST_CALL_SYNC_STREAM},
        {"EventSynchronize", ST_CALL_SYNC_EVENT},
        {"DeviceSynchronize", ST_CALL_SYNC_DEVICE},
        {"CtxSynchronize", ST_CALL_SYNC_DEVICE},
        {"FreeAsync", ST_CALL_OTHER},
        {"FreeHost", ST_CALL_OTHER},
        {"FreeArray", ST_CALL_OTHER},
        {"MemFree", ST_CALL_FREE},
        {"cudaFree", ST_CALL_FREE},
        {"hipFree", ST_CALL_FREE},
        {"GraphLaunch", ST_CALL_LAUNCH},
        {"Launch", ST_CALL_LAUNCH},
        {"Memcpy", ST_CALL_LAUNCH},
        {"Memset", ST_CALL_LAUNCH},
    };
    for (size_t i = 0; i < ST_COUNT(calls); i++)
        if (strstr(name, calls[i].text) != NULL)
            return calls[i].call;
    return ST_CALL_OTHER;
}
