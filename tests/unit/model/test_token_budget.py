from ops.model.batches import ON_CPU, token_budget

# What torch shows of GPUs (`torch.cuda.get_device_properties(0).total_memory`).
KNOWN = {
    "H100 80GB": (85_028_765_696, 131_072),
    "L40S": (47_697_362_944, 65_536),
    "V100-SXM2-32GB": (34_079_637_504, 32_768),
    "L4": (23_677_177_856, 32_768),
    "V100-SXM2-16GB": (16_935_682_048, 16_384),
}


def test_a_gpu_gets_the_batches_of_its_class_and_a_cpu_the_smallest() -> None:
    assert {name: (memory, token_budget(memory)) for name, (memory, _) in KNOWN.items()} == KNOWN
    assert token_budget(None) == token_budget(0) == ON_CPU == 2_048
