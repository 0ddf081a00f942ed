"""Policies: listing and choosing them, training new ones, collecting decisions and evaluating."""
