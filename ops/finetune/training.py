"""Training of a classifier with transformers' Trainer, from checkpoint to checkpoint.

The result does not depend on the division of the training by checkpoints.
"""

import math
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from ops.arrays import Float32s
from ops.errors import InputError
from ops.finetune.classifier import Classifier
from ops.model.batches import pad
from ops.model.tokenizer import Tokens
from ops.model.transformers_calls import quiet_transformers
from ops.model.weights import not_finite
from ops.storage.store import Store

_TEST_BATCH = 32


Example = tuple[Tokens, int]  # a document's tokens and the index of its label


class _Until(TrainerCallback):  # type: ignore[misc]
    """Ends the training with a checkpoint after a given step and records the losses, which must be finite."""

    def __init__(self) -> None:
        self.stop = 0
        self.losses: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step >= self.stop:
            control.should_save = control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if logs and "loss" in logs:
            if not math.isfinite(logs["loss"]):
                raise diverged(args.learning_rate, f"the loss of step {state.global_step:,}")
            self.losses.append(logs["loss"])


def diverged(learning_rate: float, what: str) -> InputError:
    """Return the error for a training in which a value is no longer finite."""
    return InputError(
        f"--learning-rate {learning_rate:g}: {what} is not finite, so nothing can be learnt; give a lower one"
    )


class ClassifierTraining:
    """A training that runs a number of steps at a time, each time from the previous checkpoint.

    Args:
        epochs, batch_size: number of passes over the documents, and number of documents in a step.
        learning_rate: the constant learning rate of Adam (Kingma and Ba 2015), without weight decay and clipping.
        seed: the seed of the order of the documents and of dropout.
        device: `cpu` or `cuda`.
    """

    def __init__(
        self, model: Classifier, train: list[Example], test: list[Example], pad_id: int, *,
        epochs: int, batch_size: int, learning_rate: float, seed: int, device: str,
    ) -> None:  # fmt: skip
        self.model, self.train, self.test, self.pad_id = model, train, test, pad_id
        self.batch_size, self.learning_rate, self.seed = batch_size, learning_rate, seed
        self.until = _Until()
        with quiet_transformers():
            arguments = TrainingArguments(
                output_dir=tempfile.gettempdir(),
                num_train_epochs=epochs,
                per_device_train_batch_size=batch_size,
                per_device_eval_batch_size=_TEST_BATCH,
                learning_rate=learning_rate,
                lr_scheduler_type="constant",
                optim="adamw_torch",
                weight_decay=0.0,
                max_grad_norm=0.0,
                seed=seed % (1 << 32),
                use_cpu=device == "cpu",
                save_strategy="no",
                logging_strategy="steps",
                logging_steps=1,
                logging_nan_inf_filter=False,  # otherwise a non-finite loss becomes the mean of earlier losses
                report_to="none",
                disable_tqdm=True,
                remove_unused_columns=False,
                label_names=["labels"],
                dataloader_pin_memory=device != "cpu",
            )
            self.trainer = Trainer(
                model=model, args=arguments, train_dataset=train, data_collator=self.collate, callbacks=[self.until]
            )
        self.trainer.remove_callback(PrinterCallback)

    def collate(self, examples: list[Example]) -> dict[str, torch.Tensor]:
        """Return documents as a batch of token ids, the mask of real tokens, and labels."""
        ids, real, _ = pad([tokens for tokens, _ in examples], self.pad_id, torch.device("cpu"))
        labels = torch.tensor([label for _, label in examples])
        return {"input_ids": ids, "attention_mask": real.long(), "labels": labels}

    def run(self, stop: int, checkpoint: Path | None, folder: Path) -> tuple[list[float], Path]:
        """Train up to a step.

        Args:
            stop: the last step of this call, counted from 1.
            checkpoint: the folder that an earlier call returned; None to start from the beginning.
            folder: the folder in which the new checkpoint is written.

        Returns:
            The loss of each step of this call, and the folder of the checkpoint at its end.

        Raises:
            InputError: a loss, or a weight at the end, is not finite.
        """
        self.until.stop, self.until.losses = stop, []
        self.trainer.args.output_dir = str(folder)
        if checkpoint is None:
            # Later calls restore the random state from the checkpoint.
            torch.manual_seed(self.seed)
        with quiet_transformers():
            self.trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        tensor = not_finite(self.model)
        if tensor is not None:
            raise diverged(self.learning_rate, f"{tensor} after step {stop:,}")
        return list(self.until.losses), folder / f"checkpoint-{stop}"

    def step_seconds(self, enough: float) -> float:
        """Return the duration of a step (forward and backward) in seconds, measured for at least `enough` seconds."""
        self.model.train()
        size, done = self.batch_size, 0
        device = next(self.model.parameters()).device
        started = time.perf_counter()
        while done == 0 or time.perf_counter() - started < enough:
            first = done * size % max(len(self.train) - size + 1, 1)
            batch = self.collate(self.train[first : first + size])
            self.model(**{name: values.to(device) for name, values in batch.items()})["loss"].backward()
            done += 1
        return (time.perf_counter() - started) / done

    def scores(self) -> Float32s:
        """Return the score of each test document and label, `[documents, labels]`, without dropout.

        Raises:
            InputError: a score is not finite.
        """
        with quiet_transformers():
            output = self.trainer.predict(self.test)  # type: ignore[arg-type]  # a list is a data set
        scores = np.asarray(output.predictions, np.float32)
        if not np.isfinite(scores).all():
            raise diverged(self.learning_rate, "a score of a test document")
        return scores


def pack(folder: Path, path: str) -> None:
    """Write the files of a checkpoint's folder into one file."""
    with tarfile.open(path, "w") as tar:
        tar.add(folder, ".")


def unpack(store: Store, name: str, folder: Path) -> Path:
    """Extract the files that `pack` stored in one file into a folder, and return the folder."""
    with (
        store.filesystem.open_input_stream(store.path(name), compression=None) as stream,
        tarfile.open(fileobj=stream, mode="r|") as tar,
    ):
        tar.extractall(folder, filter="data")
    return folder


def segments(documents: int, batch_size: int, epochs: int, steps: int) -> list[tuple[int, int]]:
    """Return each checkpoint's step, and the epoch that ends at this step (0 if no epoch ends there).

    >>> segments(documents=20, batch_size=4, epochs=2, steps=3)
    [(3, 0), (5, 1), (8, 0), (10, 2)]
    """
    each = -(-documents // batch_size)
    found = []
    for epoch in range(epochs):
        found += [(epoch * each + step, 0) for step in range(steps, each, steps)]
        found.append(((epoch + 1) * each, epoch + 1))
    return found
