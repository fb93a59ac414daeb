"""A live test of the communication between the ranks of a job: ``torchrun ... -m torchdoctor.net``."""
