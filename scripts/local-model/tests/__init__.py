"""Tests of the local model: no network but loopback, no model, seconds in all."""
