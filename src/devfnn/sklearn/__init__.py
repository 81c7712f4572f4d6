"""DEVFNN and GClass as classifiers of scikit-learn: `pip install 'devfnn[sklearn]'`."""

from devfnn.sklearn.classifiers import DEVFNNClassifier, GClassClassifier

__all__ = ["DEVFNNClassifier", "GClassClassifier"]
