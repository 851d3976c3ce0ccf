"""What the tests of hosts share."""
import sys

SKIPPED = 77  # the exit code of a test that this machine cannot run

# A tiny GPT for one rank; tests say how it is divided.
SCENARIO = {
    "name": "tiny", "profile": "cpu",
    "model": {"name": "tiny", "num_hidden_layers": 4, "hidden_size": 64, "num_attention_heads": 2,
              "intermediate_size": 128, "vocab_size": 128, "max_position_embeddings": 32},
    "cluster": {"preset": "cpu-hosts", "nodes": 2, "gpus_per_node": 1},
    "strategy": {}, "training": {"seq_length": 32, "micro_batch_size": 2, "global_batch_size": 8, "precision": "fp32"},
}


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")
