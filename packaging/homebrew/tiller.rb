class Tiller < Formula
  desc "Coding agent that works through the editor"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["Apache-2.0", "MIT"]

  # @ARCHIVES@

  def install
    bin.install "tiller"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/tiller.bash" => "tiller"
    zsh_completion.install "completions/_tiller"
    fish_completion.install "completions/tiller.fish"
    doc.install "THIRD-PARTY.txt", "sbom.cdx.json"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tiller --version")
  end
end
