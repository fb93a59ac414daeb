FROM ubuntu:18.04
RUN apt-get update && apt-get install -y software-properties-common
RUN python3.11 -m pip install "torch>=2.9"
