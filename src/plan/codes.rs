//! Every stable code of a diagnostic of the plan, with what it means; `docs/diagnostics.md` lists the same.

use crate::config::codes::declare_codes;

declare_codes! {
    UNKNOWN_OP = "unknown-op": "An op that does not exist.";
    UNKNOWN_STAGE = "unknown-stage": "`from` names a stage that does not exist.";
    UNKNOWN_RESOURCE = "unknown-resource": "`uses` names a resource that is neither declared nor a default.";
    DUPLICATE_FROM = "duplicate-from": "`from` names a stage twice.";
    DUPLICATE_USE = "duplicate-use": "`uses` names a resource twice.";
    SOURCE_WITH_FROM = "source-with-from": "A source takes items from another stage.";
    MISSING_FROM = "missing-from": "A stage that is no source says not where its items come from.";
    CYCLE = "cycle": "Stages take their items from each other.";
    NO_SOURCE = "no-source": "A pipeline without a stage.";
    PORT_MISMATCH = "port-mismatch": "A stage does not accept what the stage before it gives.";
    UNEQUAL_UNION = "unequal-union": "The stages of one `from` give different things.";
    NOTHING_TO_ASSEMBLE = "nothing-to-assemble": "`assemble` where no `window` stage stands above.";
    NESTED_WINDOWS = "nested-windows": "Windows or groups are made of windows.";
    SEVERAL_MEMBERS = "several-members": "A stage gets several members of a group, or several grids, and works on one.";
    SAME_OUTPUT = "same-output": "Two stages or two items write to the same path.";
    OUTPUT_IS_INPUT = "output-is-input": "An output is the very file of an input, by its path or through a link.";
    WRONG_RESOURCE_KIND = "wrong-resource-kind": "A resource with a fixed meaning is declared as another kind, or used as one.";
    WRONG_AMOUNT = "wrong-amount": "An amount of another kind than the resource counts.";
    ZERO_LIMIT = "zero-limit": "A budget of nothing, which grants nothing.";
    WORKING_SET = "working-set": "A working set larger than the budget it is to divide.";
    DEMAND_ABOVE_CAPACITY = "demand-above-capacity": "A demand that can never be granted.";
    UNIT_IN_STAGE = "unit-in-stage": "A resource that items hold all the way is taken by a stage again.";
    QUEUE_OF_SOURCE = "queue-of-source": "A queue into a source, which has none.";
    UNUSED_STAGE = "unused-stage": "What a stage gives is neither written nor tabled.";
    UNUSED_RESOURCE = "unused-resource": "A resource that nothing takes.";
    UNUSED_GRID = "unused-grid": "A grid that no stage names.";
    UNUSED_PARAMETER = "unused-parameter": "A parameter that stands nowhere in the file.";
    IDLE_ISOLATION = "idle-isolation": "`isolation` at a stage that has no worker processes.";
    MEMORY_ABOVE_MACHINE = "memory-above-machine": "All that may be in memory at once is more than the machine grants.";
    CORES_ABOVE_MACHINE = "cores-above-machine": "More cores are shared out than the machine grants.";
}
