// What is used of cuDNN's graph API. Its headers are not in the CUDA toolkit, so the library is loaded when a GPU is
// opened; names and numbers are those of NVIDIA's API reference of cudnn_graph (cuDNN 9), which keeps them from version
// to version.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery::kernels::cuda::cudnn {

using Handle = void*;
using Descriptor = void*;
using Status = int;  ///< 0: success

/// cudnnBackendDescriptorType_t
enum class Class : int {
    pointwise = 0,
    engine_config = 3,
    heuristics = 4,
    plan = 5,
    pointwise_operation = 13,
    graph = 15,
    operands = 16,  ///< "variant pack"
    tensor = 17,
    matmul = 18,
    matmul_operation = 19,
    reduction = 21,
    reduction_operation = 22,
    reshape_operation = 31,
};

/// cudnnBackendAttributeName_t
enum class Name : int {
    pointwise_mode = 0,
    pointwise_math = 1,
    pointwise_axis = 9,
    heuristics_mode = 200,
    heuristics_graph = 201,
    heuristics_results = 202,
    plan_handle = 400,
    plan_config = 401,
    plan_workspace = 402,
    pointwise_descriptor = 750,
    pointwise_x = 751,
    pointwise_b = 752,
    pointwise_y = 753,
    pointwise_t = 758,
    graph_handle = 800,
    graph_operations = 801,
    tensor_alignment = 900,
    tensor_type = 901,
    tensor_extents = 902,
    tensor_strides = 903,
    tensor_number = 906,
    tensor_is_virtual = 907,
    tensor_is_by_value = 908,
    operand_numbers = 1000,
    operand_pointers = 1001,
    operand_workspace = 1003,
    matmul_math = 1500,
    matmul_a = 1520,
    matmul_b = 1521,
    matmul_c = 1522,
    matmul_descriptor = 1523,
    reduction_operator = 1600,
    reduction_math = 1601,
    reduction_x = 1610,
    reduction_y = 1611,
    reduction_descriptor = 1612,
    reshape_x = 2200,
    reshape_y = 2201,
};

/// cudnnBackendAttributeType_t: what an attribute's elements are.
enum class Element : int {
    handle = 0,
    data_type = 1,
    boolean = 2,
    int64 = 3,
    pointer = 6,
    heuristics_mode = 8,
    pointwise_mode = 14,
    descriptor = 15,
    reduction_operator = 18,
};

/// cudnnDataType_t
enum class Type : int { fp32 = 0, fp16 = 2, int32 = 4, bf16 = 9, boolean = 11 };

/// cudnnPointwiseMode_t. Of x, b and t: subtract is x - b, divide x / b, greater_equal x >= b, select t ? x : b; index
/// is the coordinate of each element of x along the axis.
enum class Pointwise : int {
    multiply = 1,
    divide = 6,
    add = 0,
    subtract = 9,
    exponential = 13,
    logarithm = 15,
    greater_equal = 303,
    index = 501,
    select = 601,
};

/// cudnnReduceTensorOp_t
enum class Reduction : int { add = 0, maximum = 3 };

/// cudnnBackendHeurMode_t: its model of what is fastest, with engines that need no more than it knows.
inline constexpr int heuristics_mode_a = 3;

/// The functions, under their names in the library.
struct Api {
    std::size_t (*cudnnGetVersion)();  ///< 91900: 9.19.0
    const char* (*cudnnGetErrorString)(Status);
    void (*cudnnGetLastErrorString)(char* text, std::size_t room);  ///< why the last call of this thread failed
    Status (*cudnnCreate)(Handle*);
    Status (*cudnnDestroy)(Handle);
    Status (*cudnnSetStream)(Handle, cudaStream_t);
    Status (*cudnnBackendCreateDescriptor)(Class, Descriptor*);
    Status (*cudnnBackendDestroyDescriptor)(Descriptor);
    Status (*cudnnBackendFinalize)(Descriptor);
    Status (*cudnnBackendSetAttribute)(Descriptor, Name, Element, std::int64_t count, const void* elements);
    Status (*cudnnBackendGetAttribute)(Descriptor, Name, Element, std::int64_t room, std::int64_t* count,
                                       void* elements);
    Status (*cudnnBackendExecute)(Handle, Descriptor plan, Descriptor operands);
};

/// The functions of the library at a path, empty: of the one that the build found, or else that the system's loader
/// finds as libcudnn.so.9. Null where a path is empty and there is none. Lives as long as the program. Throws Error
/// where a path is given and no cuDNN of version 9 is there.
const Api* load(std::string_view path);

}  // namespace orrery::kernels::cuda::cudnn
